#include "record/proc/cpu_times.h"

#include <algorithm>

#include "process/status.h"
#include "process/threads.h"

namespace fathom::record {
namespace {

// Kernels without scheduler statistics have no schedstat, or one of zeros; ticks of 10 ms are better than
// nothing.
std::uint64_t time_of_thread(int pid, int tid, bool& found) {
  const auto times = process::read_schedstat(pid, tid);
  found = true;
  if (times && times->slices > 0) return times->ran_ns;
  const auto stat = process::read_thread_stat(pid, tid);
  found = stat.has_value();
  if (!found) return 0;
  return (stat->user_ticks + stat->system_ticks) * (1'000'000'000 / process::ticks_per_second());
}

}  // namespace

Result<> CpuTimes::update() {
  auto tids = process::read_thread_ids(pid_);
  if (!tids) {
    apply({});
    return tl::unexpected(tids.error());
  }
  std::vector<Reading> readings;
  for (int tid : *tids) {
    bool found = false;
    const std::uint64_t ran_ns = time_of_thread(pid_, tid, found);
    if (found) readings.push_back({tid, ran_ns});
  }
  apply(readings);
  return {};
}

void CpuTimes::apply(std::span<const Reading> readings) {
  const bool from_zero = born_inside_;
  born_inside_ = true;  // whoever appears from now on was started since
  std::map<int, Running> now;
  for (const Reading& reading : readings) {
    const auto before = running_.find(reading.tid);
    // CPU time never falls: less than before is another thread with the same number.
    if (before != running_.end() && reading.ran_ns >= before->second.last_ns) {
      now[reading.tid] = {before->second.first_ns, reading.ran_ns};
      running_.erase(before);
    } else {
      now[reading.tid] = {from_zero ? 0 : reading.ran_ns, reading.ran_ns};
    }
  }
  for (const auto& [tid, times] : running_) ended_.push_back({tid, times.last_ns - times.first_ns, true});
  running_ = std::move(now);
}

std::vector<ThreadTime> CpuTimes::threads() const {
  std::vector<ThreadTime> all = ended_;
  for (const auto& [tid, times] : running_) all.push_back({tid, times.last_ns - times.first_ns, false});
  std::stable_sort(all.begin(), all.end(),
                   [](const ThreadTime& a, const ThreadTime& b) { return a.tid < b.tid; });
  return all;
}

std::uint64_t CpuTimes::total_ns() const {
  std::uint64_t sum = 0;
  for (const ThreadTime& thread : threads()) sum += thread.cpu_ns;
  return sum;
}

}  // namespace fathom::record
