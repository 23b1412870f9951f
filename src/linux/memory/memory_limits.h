// Which limit a process's memory will meet first. Sources: cgroups(7), the kernel's admin-guide/cgroup-v2.rst and
// cgroup-v1/memory.rst, getrlimit(2), proc(5) (/proc/PID/limits, /proc/meminfo). The texts are not trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linux/process/cgroup.h"

namespace fathom::sources {

enum class LimitKind : std::uint8_t { kControlGroup, kAddressSpace, kData, kMachine };

struct MemoryLimit {
  LimitKind kind = LimitKind::kMachine;
  std::string where;              // of a control group: its path
  std::uint64_t limit = 0;        // bytes
  std::uint64_t used = 0;         // of it, as the kernel counts
  std::uint64_t reclaimable = 0;  // of `used`: page cache, which the kernel takes back before it kills
  // What is left before the kernel kills, or refuses.
  std::uint64_t room() const {
    const std::uint64_t held = used - (reclaimable < used ? reclaimable : used);
    return held < limit ? limit - held : 0;
  }
  bool operator==(const MemoryLimit&) const = default;
};

// The least room. null: there is none.
const MemoryLimit* first_to_be_met(const std::vector<MemoryLimit>& limits);

struct ProcessLimits {
  std::optional<std::uint64_t> address_space, data;  // soft limits, bytes; nullopt: unlimited, or unknown
  bool operator==(const ProcessLimits&) const = default;
};
ProcessLimits parse_process_limits(std::string_view text);

struct MachineMemory {
  std::uint64_t total = 0, available = 0, swap_total = 0, swap_free = 0;  // bytes
  bool operator==(const MachineMemory&) const = default;
};
MachineMemory parse_meminfo(std::string_view text);

// Of memory.stat.
struct GroupMemory {
  std::uint64_t anonymous = 0;   // "anon", of version 1 "total_rss"
  std::uint64_t page_cache = 0;  // of files, active or not: not of shared memory
  // Version 2 names them; of version 1 only the sum is there, in another file.
  std::optional<std::uint64_t> kernel, page_tables, kernel_stacks, slab;
  bool operator==(const GroupMemory&) const = default;
};
GroupMemory parse_group_memory(std::string_view text, int version);

// The control group that accounts for a process, as a whole.
struct ControlGroup {
  int version = 0;
  std::string path;
  std::uint64_t used = 0;
  GroupMemory memory;
};

struct Limits {
  std::vector<MemoryLimit> limits;  // every one that there is, from the nearest group up
  std::optional<ControlGroup> group;
};
// Some 60 us. What cannot be read is left out. `virtual_bytes`: of the process, against the limit of its addresses.
Limits read_limits(std::int32_t pid, std::uint64_t virtual_bytes);

}  // namespace fathom::sources
