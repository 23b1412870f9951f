// How urgent the recording thread is, for as long as it records.
#pragma once

#include <sched.h>
#include <sys/resource.h>

namespace fathom::session {

// A new mapping must reach the walker before the target runs long in it, also on a full machine: measured
// with eight programs on two CPUs, a normal thread came 5 to 15 ms late, one with real-time priority 0.1 ms.
// It runs for about one per cent of the time, and the kernel's limit for real-time threads bounds it. It is
// the calling thread's priority, given back at the end.
class Urgency {
 public:
  Urgency() = default;
  ~Urgency() { end(); }
  Urgency(const Urgency&) = delete;
  Urgency& operator=(const Urgency&) = delete;
  void begin() {
    if (urgent_) return;
    urgent_ = true;
    if (!known_) {
      known_ = true;
      policy_ = ::sched_getscheduler(0);
      (void)::sched_getparam(0, &parameters_);
      nice_ = ::getpriority(PRIO_PROCESS, 0);
    }
    sched_param parameters{};
    parameters.sched_priority = 1;
    if (::sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &parameters) != 0)
      (void)::setpriority(PRIO_PROCESS, 0, -10);
  }
  // Still in front of ordinary threads, with the share of a CPU that its weight gives it: other threads run as well.
  void relax() {
    if (!urgent_) return;
    const sched_param parameters{};
    (void)::sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &parameters);
    (void)::setpriority(PRIO_PROCESS, 0, -20);
    urgent_ = false;
    relaxed_ = true;
  }
  void end() {
    if (!urgent_ && !relaxed_) return;
    relaxed_ = false;
    urgent_ = false;
    (void)::sched_setscheduler(0, policy_, &parameters_);
    (void)::setpriority(PRIO_PROCESS, 0, nice_);
  }

 private:
  bool urgent_ = false, relaxed_ = false, known_ = false;  // what it was before
  int policy_ = SCHED_OTHER, nice_ = 0;
  sched_param parameters_{};
};

// For the duration of deferrable work: a compiler has a thousand new stacks in 10 ms, and meanwhile nothing
// else would get this CPU, not even the thread that drains the rings of the heap tracer.
class Calm {
 public:
  explicit Calm(Urgency& urgency) : urgency_(urgency) { urgency_.relax(); }
  ~Calm() { urgency_.begin(); }
  Calm(const Calm&) = delete;
  Calm& operator=(const Calm&) = delete;

 private:
  Urgency& urgency_;
};

}  // namespace fathom::session
