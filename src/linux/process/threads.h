// The threads of a process and their CPU time. Source: proc(5), /proc/PID/task.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::process {

struct ThreadInfo {
  int tid = 0;
  std::string name;
  bool operator==(const ThreadInfo&) const = default;
};

// In ascending order of tid. Threads that end while we look are left out.
Result<std::vector<ThreadInfo>> read_threads(int pid);
Result<std::vector<int>> read_thread_ids(int pid);  // the same without names: one file less for each thread
Result<std::string> read_thread_name(int pid, int tid);

// Whether children of this thread still exist, zombies included: /proc/PID/task/TID/children. false if the
// kernel does not report them.
bool has_children(int pid, int tid);

// /proc/PID/task/TID/schedstat: exact to the nanosecond, up to the last tick or switch.
struct SchedulerTimes {
  std::uint64_t ran_ns = 0, waited_ns = 0;  // on a CPU; runnable, and waiting for one
  std::uint64_t slices = 0;
  bool operator==(const SchedulerTimes&) const = default;
};
Result<SchedulerTimes> parse_schedstat(std::string_view text);
Result<SchedulerTimes> read_schedstat(int pid, int tid);

}  // namespace fathom::process
