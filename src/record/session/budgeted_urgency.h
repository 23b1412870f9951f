// Real-time priority with a budget: for a thread that must get a CPU on a full machine, but must not take it
// from the target indefinitely, whatever work the target causes. If real-time is not allowed it uses a better
// nice value; if that is not allowed either, nothing changes.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

#include "base/clock.h"

namespace fathom::session {

class BudgetedUrgency {
 public:
  static constexpr std::uint64_t kWindowNs = 100'000'000, kBudgetNs = 50'000'000;  // of CPU time

  // For the rest of the calling thread's life, which ends with the recording.
  BudgetedUrgency() : window_ns_(monotonic_ns()), used_ns_(cpu_ns()) { raise(); }
  // After each piece of work. Beyond the budget the thread is an ordinary one of the best nice value until the window is
  // over.
  void account() {
    const std::uint64_t now = monotonic_ns();
    if (now - window_ns_ >= kWindowNs) {
      window_ns_ = now;
      used_ns_ = cpu_ns();
      if (!raised_) raise();
    } else if (raised_ && cpu_ns() - used_ns_ >= kBudgetNs) {
      lower();
    }
  }
  bool raised() const { return raised_; }

 private:
  static std::uint64_t cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }
  void raise() {
    sched_param parameters{};
    parameters.sched_priority = 1;
    raised_ = true;
    if (::sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &parameters) != 0) lower();
  }
  void lower() {
    const sched_param parameters{};
    (void)::sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &parameters);
    (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), -20);
    raised_ = false;
  }

  std::uint64_t window_ns_, used_ns_;
  bool raised_ = false;
};

}  // namespace fathom::session
