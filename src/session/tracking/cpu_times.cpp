#include "session/tracking/cpu_times.h"

#include "process/threads.h"

namespace fathom::session {

void CpuTimes::begin(std::int32_t pid) {
  for (const std::int32_t tid : processes_.threads(pid)) {
    if (const auto times = process::read_schedstat(pid, tid)) live_[tid] = {times->ran_ns, times->ran_ns};
  }
}

void CpuTimes::note(std::int32_t tid, std::uint64_t cpu_ns) {
  Account& account = live_[tid];
  if (cpu_ns < account.before_ns) account.before_ns = 0;  // the number was used again
  account.now_ns = cpu_ns;
  if (const auto row = processes_.known_thread_row(tid))
    profile_.threads[row->value].cpu_ns = account.now_ns - account.before_ns;
}

void CpuTimes::refresh() {
  for (const std::int32_t pid : processes_.pids()) {
    for (const std::int32_t tid : processes_.threads(pid)) {
      if (const auto times = process::read_schedstat(pid, tid)) note(tid, times->ran_ns);
    }
  }
}

void CpuTimes::ended(const sources::ThreadCpuTime& event) {
  note(event.tid, event.cpu_ns);
  const auto account = live_.find(event.tid);
  ended_ns_ += account->second.now_ns - account->second.before_ns;
  live_.erase(account);
}

std::uint64_t CpuTimes::total_ns() const {
  std::uint64_t total = ended_ns_;
  for (const auto& [tid, account] : live_) total += account.now_ns - account.before_ns;
  return total;
}

}  // namespace fathom::session
