#include "record/session/tracking/cpu_times.h"

#include "linux/process/threads.h"

namespace fathom::session {
namespace {

// The kernel books the time of a thread at its ticks and switches. The figure of its end was taken before the last booking, so /proc may
// have shown more. On a busy machine the tick of a virtual processor is late, too.
constexpr std::uint64_t kLateBookingNs = 100'000'000;

}  // namespace

void CpuTimes::begin(std::int32_t pid) {
  for (const std::int32_t tid : processes_.threads(pid)) {
    if (const auto times = process::read_schedstat(pid, tid)) {
      known_ = true;
      live_[tid] = {times->ran_ns, times->ran_ns, times->slices, times->waited_ns, round_};
    }
  }
}

CpuTimes::Account& CpuTimes::note(std::int32_t tid, std::uint64_t cpu_ns) {
  known_ = true;
  Account& account = live_[tid];
  if (cpu_ns < account.now_ns) {
    if (account.now_ns - cpu_ns < kLateBookingNs)
      cpu_ns = account.now_ns;
    else
      account = {};  // the number was used again
  }
  total_ns_ += cpu_ns - account.now_ns;
  account.now_ns = cpu_ns;
  account.round = round_;
  processes_.book_cpu(tid, account.now_ns - account.before_ns);
  return account;
}

void CpuTimes::refresh(const std::set<std::int32_t>& unsampled) {
  ++round_;
  for (const std::int32_t pid : processes_.pids()) {
    const std::uint64_t before_ns = total_ns_;
    const bool is_unsampled = unsampled.contains(pid);
    for (const std::int32_t tid : processes_.threads(pid)) {
      if (const auto times = process::read_schedstat(pid, tid)) {
        // A sample or a wait creates a thread's row; without any, only its CPU time is known.
        if (is_unsampled && times->ran_ns > live_[tid].before_ns) (void)processes_.thread_row(pid, tid);
        Account& account = note(tid, times->ran_ns);
        if (times->slices > account.runs) runs_ += times->slices - account.runs;
        account.runs = times->slices;
        was_read_ = was_read_ || account.now_ns > account.before_ns;
        if (times->waited_ns > account.waited_ns) waited_ns_ += times->waited_ns - account.waited_ns;
        account.waited_ns = times->waited_ns;
      }
    }
    if (is_unsampled) unsampled_ns_ += total_ns_ - before_ns;
  }
  std::erase_if(live_, [&](const auto& entry) {
    if (entry.second.round + 2 >= round_) return false;
    if (!entry.second.ended) ++ended_threads_;  // its end was lost
    return true;
  });
}

// Its account stays for a while: on a busy machine a thread that ends may still be there for long, and would count once more.
void CpuTimes::ended(const sources::ThreadCpuTime& event) {
  Account& account = note(event.tid, event.cpu_ns);
  if (account.runs == 0) ++runs_;
  if (!account.ended) ++ended_threads_;
  account.ended = true;
}

}  // namespace fathom::session
