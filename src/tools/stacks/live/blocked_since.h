// How long ago a thread last ran. Source: se.exec_start of /proc/PID/task/TID/sched, the time at which it was last seen on a CPU,
// on the scheduler's clock of that CPU (kernel/sched/debug.c; CONFIG_SCHED_DEBUG, always on since Linux 6.15). That clock
// leaves out interrupts, on each CPU other ones, so it is compared with our own time on the same CPU.
//
// Alternative not taken: the time a thread slept in all (age minus running and queueing): it is an upper bound only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace fathom::stacks {

// ns; nullopt: the text has no such line, or the time is 0, as after a move to another CPU.
std::optional<std::uint64_t> parse_exec_start(std::string_view sched);
// The CPU that the thread last ran on: field 39 of /proc/PID/task/TID/stat.
std::optional<int> parse_last_cpu(std::string_view stat);

class SchedulerClocks {
 public:
  // Of a thread that is blocked. nullopt: this kernel does not show it. Measures the clock of a CPU at its first use, for
  // which this thread moves there for a moment.
  std::optional<std::uint64_t> since_it_ran(std::int32_t pid, std::int32_t tid);

 private:
  struct Clock {
    std::uint64_t scheduler_ns = 0, monotonic_ns = 0;  // at the same moment
  };
  static std::optional<Clock> measure(int cpu);
  std::map<int, std::optional<Clock>> clocks_;
};

}  // namespace fathom::stacks
