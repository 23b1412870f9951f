// How many processes the kernel has killed because memory was short: in the control group of a target, or, without one that counts, on the
// machine. Source: memory.events and memory.oom_control of cgroups(7), oom_kill in /proc/vmstat.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::serve {

class OomCount {
 public:
  // `pids`: of the target now; empty: it has ended, and its control group of before counts. nullopt: nothing can be read.
  std::optional<std::uint64_t> take(const std::vector<std::int32_t>& pids);

 private:
  std::int32_t pid_ = 0;  // whose control group it is
  std::string file_ = "/proc/vmstat";
};

// "oom_kill 3" of a text with a name and a number in each line.
std::optional<std::uint64_t> oom_kills_in(std::string_view text);

}  // namespace fathom::serve
