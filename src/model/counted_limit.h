// Limits of a process that are counted and not measured in resident bytes: mappings, descriptors, threads, locked and promised
// memory. A process that meets one fails, however much memory is free. Facts `limit.PID` of docs/format.md.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::model {

struct CountedLimit {
  enum class Kind : std::uint8_t {
    kMappings,      // vm.max_map_count: then mmap, mprotect and so malloc and thread creation fail
    kDescriptors,   // RLIMIT_NOFILE: then open, accept and socket fail
    kTasks,         // pids.max of a control group: then fork and thread creation fail
    kLockedMemory,  // RLIMIT_MEMLOCK, bytes: then mlock and io_uring fail
    kAddressSpace,  // RLIMIT_AS, bytes: then mmap fails
    kCommitted,     // of the machine, bytes, if vm.overcommit_memory is 2: then mmap and fork fail
  };
  Kind kind = Kind::kMappings;
  std::uint64_t used = 0, limit = 0;  // the most that was seen, with the limit at that moment
  double share() const { return limit == 0 ? 0 : static_cast<double>(used) / static_cast<double>(limit); }
  bool operator==(const CountedLimit&) const = default;
};

// From this share on a limit is reported.
inline constexpr double kNearLimit = 0.7;

std::string_view to_string(
    CountedLimit::Kind kind);  // "mappings", "descriptors", "tasks", "locked-memory", ...

// Each kind once, with the larger share of the two.
void keep_larger(std::vector<CountedLimit>& kept, std::span<const CountedLimit> seen);
// Those from kNearLimit on, the nearest first.
std::vector<CountedLimit> near_limits(std::span<const CountedLimit> limits);

struct LimitsOfProcess {
  std::int32_t pid = 0;
  std::vector<CountedLimit> limits;
  bool operator==(const LimitsOfProcess&) const = default;
};
void put_counted_limits(const LimitsOfProcess& limits, std::map<std::string, std::string>& facts);
// By pid. Facts that do not parse are left out.
std::vector<LimitsOfProcess> counted_limits_of(const std::map<std::string, std::string>& facts);

}  // namespace fathom::model
