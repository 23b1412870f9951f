// What the selected threads did at each moment of the selected time, as one: whether any of them ran, could have run, or what all
// of them waited for. Sums over threads say nothing of what limits a program: the idle threads of a pool, a parent that waits and a
// housekeeper that sleeps outweigh the one thread that works. Here each moment counts once.
#pragma once

#include "analysis/core/idle.h"
#include "analysis/core/waits.h"
#include "analysis/waits/handed_on.h"
#include "analysis/waits/wait_site.h"

namespace fathom::analysis {

// Nanoseconds. All but length_ns add up to it.
struct WallTime {
  double length_ns =
      0;  // without stops by fathom; 0: unknown, because stacks were selected or the time was not recorded
  double ran_ns = 0;     // at least one thread ran
  double queued_ns = 0;  // none ran, and at least one could have: run queue, or the CPU quota was used up
  // No thread ran or was runnable. A file, memory and a lock count from the moment a thread waits for them;
  // without such a thread the cause that ended the silence counts.
  double disk_ns = 0;
  double memory_ns = 0;  // pages from the swap, or the kernel had to free some first
  double locks_ns = 0;   // a lock
  double peers_ns = 0;   // sockets, pipes, polls, events
  double slept_ns = 0;   // a timer, or an async task slept
  // Other threads, which never came: most threads that wait do so for one of these, and no rule knows them to be idle.
  double unended_ns = 0;
  double other_ns = 0;
  double idle_ns = 0;  // no thread had work: only its arrival ended the silence
  double busy_ns() const { return length_ns - idle_ns; }
};

// `reasons` are those of wait_reasons.txt.
WallTime find_wall_time(const Waits& waits, const Selection& selection, const RuledWaits& reasons,
                        const WaitSites& sites, const HandedOnFutexes& handed_on);

// Of waits whose moments are unknown: the same parts, each added up over all threads, with `ran_ns` of CPU time.
WallTime sum_thread_time(const Waits& waits, const RuledWaits& reasons, const WaitSites& sites,
                         const HandedOnFutexes& handed_on, double ran_ns);

}  // namespace fathom::analysis
