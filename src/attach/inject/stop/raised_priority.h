// On a full machine a thread cannot stop before it gets a CPU, and each system call that it makes for us
// waits for one again: with the slices of all others in between, a stop of 1 ms becomes one of 60 ms. So
// threads of the target that we stop are in front of all ordinary ones while we wait for them.
//
// What they had is not written down anywhere. Only ordinary threads are raised (SCHED_OTHER, nice 0 or more,
// nothing else set), and a raised one bears a mark that nobody else has use for: SCHED_FIFO with our own
// priority, and "reset on fork". Whoever finds the mark knows what it was, so it can be put back after we
// were killed; a borrowed thread does so by itself (remote_call.h).
#pragma once

namespace fathom::inject {

// While it lives, the calling thread is in front of all ordinary and all raised ones, if we may.
class InFront {
 public:
  InFront();
  ~InFront();
  InFront(const InFront&) = delete;
  InFront& operator=(const InFront&) = delete;

 private:
  bool raised_ = false;
};

// Nothing but a system call, so that it can come directly before the stop.
bool raise_priority(int tid);
// It is ordinary in all, so that raising and putting back leaves it as it was.
bool may_be_raised(int tid);
// false: it does not bear the mark (any more).
bool put_back_priority(int tid);
// Every thread of the process that bears the mark: after a profiler was killed.
void put_back_priorities(int pid);

}  // namespace fathom::inject
