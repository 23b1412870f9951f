// The place of this process in front of ordinary ones, if that is permitted. A full machine gives a process that starts, or
// wakes up seldom, a small share of a CPU: with 50 busy threads on two CPUs a recording of three seconds took 18, nearly all
// of them before its first and after its last moment.
#pragma once

#include <sched.h>
#include <sys/resource.h>

namespace fathom::cli {

// Applies to the calling thread until the process ends. Its children are ordinary processes, so fork a
// command before if it must keep the nice value of fathom's parent.
inline void come_first() {
  constexpr int kBestNice = -20;
  const sched_param parameters{};
  if (::setpriority(PRIO_PROCESS, 0, kBestNice) == 0)
    (void)::sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &parameters);
}

}  // namespace fathom::cli
