// Futexes that threads hand on to each other: most waits for one are ended by threads that wait for it as well. The thread that has one is
// its holder, so a semaphore that admits a few threads at a time and a lock that a program makes of the system call are locks,
// whatever their names. A semaphore that counts jobs is not: who adds a job does not wait for one.
//
// Workers that wait for jobs at a condition variable end each other's waits, too. One counts only if the stacks show that its waiters take and
// give back: one function does both, or calls both. A stage of a pipeline, which waits at a condition variable of its own, gives nothing back.
#pragma once

#include <vector>

#include "analysis/core/waits.h"
#include "analysis/waits/wait_site.h"

namespace fathom::analysis {

class HandedOnFutexes {
 public:
  HandedOnFutexes(const Waits& waits, const WaitSites& sites);
  bool contains(const model::Wait& wait) const { return of_object_[wait.object.value] != 0; }

 private:
  std::vector<char> of_object_;  // by row of Profile::objects
};

}  // namespace fathom::analysis
