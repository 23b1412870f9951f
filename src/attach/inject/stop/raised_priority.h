// On a busy machine a thread cannot stop before it gets a CPU, and each system call that it makes for fathom
// waits for a CPU again: with the time slices of all other threads in between, a stop of 1 ms takes 60 ms. So
// fathom raises the priority of the threads that it stops above all ordinary threads while it waits for them.
//
// Their old priority is not stored anywhere. fathom only raises ordinary threads (SCHED_OTHER, nice 0 or
// more, nothing else set), and marks a raised thread with a combination that no other program uses:
// SCHED_FIFO with fathom's own priority, and "reset on fork". The mark implies the old priority, so a later
// fathom can restore it if this one was killed; a borrowed thread restores its own (remote_call.h).
#pragma once

namespace fathom::inject {

// While it exists, the calling thread has priority over all ordinary and all raised ones, if permitted.
class InFront {
 public:
  InFront();
  ~InFront();
  InFront(const InFront&) = delete;
  InFront& operator=(const InFront&) = delete;

 private:
  bool raised_ = false;
};

// Only a system call, so that it can come directly before the stop.
bool raise_priority(int tid);
// An ordinary thread in every respect, so that raising and restoring leaves it unchanged.
bool may_be_raised(int tid);
// false: it does not have the mark (any more).
bool put_back_priority(int tid);
// Restores every thread of the process with the mark: after a profiler was killed.
void put_back_priorities(int pid);

}  // namespace fathom::inject
