// Text of a kernel log, or of a journal -> OOM kills. Sources: the kernel's mm/oom_kill.c and mm/memcontrol.c from 3.2 to
// 6.18; the logs in testdata. Pure. Untrusted input: any bytes give records, each with what its lines said;
// truncated or missing values are never guessed.
//
// A log may hold many records, interleaved with lines of other subsystems, and lines of several machines. The
// kernel prints one record after the other, so a line belongs to the current record of its machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fathom::oom {

// What there was not enough of.
enum class Scope : std::uint8_t {
  kUnknown,       // the line with it is missing
  kGroup,         // a control group met its limit
  kMachine,       // the machine
  kCpuset,        // the memory of the NUMA nodes that a cpuset allows
  kMemoryPolicy,  // the same of a memory policy (numactl --membind)
  kPressure,      // tasks of a group waited for memory too long; a service's reason, not the kernel's
};

struct MemoryUse {
  std::uint64_t used_bytes = 0, total_bytes = 0;
  bool operator==(const MemoryUse&) const = default;
};

// A service that killed before the kernel had to, and its reason.
struct Service {
  std::string name;  // "systemd-oomd", "earlyoom"
  std::optional<double> measured_percent,
      limit_percent;                      // of time, if scope is kPressure; else of memory and swap
  std::string period;                     // for which it was above the limit: "20s"
  std::optional<MemoryUse> memory, swap;  // of the machine
  bool operator==(const Service&) const = default;
};

struct Usage {
  std::uint64_t usage_bytes = 0;
  std::optional<std::uint64_t> limit_bytes;  // nullopt: none
  std::uint64_t failures = 0;                // how often the limit was met
  bool operator==(const Usage&) const = default;
};

// A row of the kernel's table of candidates.
struct Task {
  std::int64_t pid = 0, tgid = 0;
  std::uint32_t uid = 0;
  std::uint64_t total_vm_bytes = 0, rss_bytes = 0, page_table_bytes = 0, swap_bytes = 0;
  std::optional<std::uint64_t> anon_bytes = {}, file_bytes = {}, shmem_bytes = {};  // kernels since 6.8
  int oom_score_adj = 0;
  std::string name;  // at most 15 bytes of it
  bool operator==(const Task&) const = default;
};

// A part of a node's memory that some requests are confined to: "DMA32" below 4 GiB.
struct Zone {
  std::string node, name;
  std::uint64_t free_bytes = 0, least_bytes = 0;  // with less than the least only the kernel itself gets any
  bool operator==(const Zone&) const = default;
};

struct Kill {
  std::int64_t pid = 0;
  std::string name;
  std::optional<std::uint64_t> resident_bytes = {};  // where that alone was said
  bool measured = false;                             // the sizes below were said
  std::uint64_t total_vm_bytes = 0, anon_bytes = 0, file_bytes = 0, shmem_bytes = 0;
  std::optional<std::uint64_t> page_table_bytes = {};
  std::optional<std::uint32_t> uid = {};
  std::optional<int> oom_score_adj = {};
  bool reaped = false;  // its memory was taken before it ended by itself
  bool operator==(const Kill&) const = default;
};

struct Record {
  std::string host, time, uptime;  // of its first line; empty: not said
  Scope scope = Scope::kUnknown;
  bool asked_for = false;          // by the magic SysRq key, not because memory ran out
  std::optional<Service> service;  // that killed; nullopt: the kernel did

  // Whose request for memory met the wall: not always who is killed.
  std::string invoked_by;
  std::optional<int> order;  // it asked for 2^order pages in a row
  std::string request;       // "GFP_KERNEL", or the number where the kernel does not name it

  std::string limited_group;                                   // whose limit was met, if scope is kGroup
  std::string victim_group;                                    // of the killed process
  std::string allowed_nodes;                                   // "0-1"
  std::optional<Usage> memory, memory_and_swap, swap, kernel;  // of the limited group
  std::vector<std::pair<std::string, std::uint64_t>>
      group_bytes;  // of its memory.stat: "anon", "file", "rss" ...

  std::vector<std::pair<std::string, std::uint64_t>>
      machine_bytes;  // "active_anon", "slab_unreclaimable", "free", "hugepages_total" ...
  std::vector<std::pair<std::string, std::uint64_t>>
      slabs;  // kinds of objects of the kernel that cannot be taken back: "btrfs_extent_map"
  std::vector<Zone> zones;
  std::optional<std::uint64_t> ram_bytes, total_swap_bytes, free_swap_bytes;

  std::vector<Task> tasks;
  std::vector<Kill> kills;   // the first is the one that was chosen, the others went with it
  bool whole_group = false;  // memory.oom.group: all of the group are killed
  bool nobody_left = false;  // no process was allowed to be killed
  bool panicked = false;     // the machine is set to panic instead

  bool operator==(const Record&) const = default;
};

// In the order of the log. At most kMostRecords, the last ones; of each at most kMostTasks.
inline constexpr std::size_t kMostRecords = 4096;
inline constexpr std::size_t kMostTasks = 65536;
std::vector<Record> read_records(std::string_view log);

// The value of that name in one of the lists above.
std::optional<std::uint64_t> value_of(const std::vector<std::pair<std::string, std::uint64_t>>& list,
                                      std::string_view name);

}  // namespace fathom::oom
