// What kind of problem a recording shows, judged by the clock on the wall: what the program did at each moment, as one (WallTime).
// A first answer, by fixed thresholds that are said with it, and the way to the next command.
#pragma once

#include <cstdint>

#include "analysis/summary/memory_problem.h"
#include "analysis/summary/pressure.h"
#include "analysis/summary/report.h"

namespace fathom::analysis {

enum class ProblemKind : std::uint8_t {
  kUnknown,  // nothing to tell it from
  kMixed,    // no kind reaches its threshold
  kIdle,
  kCpu,
  kMemory,  // the kernel provides pages: swap, reclaim, page faults. Cache misses are not seen
  kCpuAndMemory,
  kDisk,
  kPeers,  // sockets and pipes
  kLocks,
  kRunQueue,
  kCpuAndRunQueue,
  kSleep,
};

// Parts of the busy time from which on a kind is named; the largest of those that reach theirs is.
struct ProblemThresholds {
  double idle_below = 0.1;     // busy time by the length of the recording
  double least_busy_s = 0.05;  // of less nothing can be said: starting the program takes as long
  double ran = 0.7;
  double queued = 0.25;
  double waited = 0.3;  // for memory, disk, peers, locks or a time
  // Of the time of threads that ran, could have, or waited for a lock: the part in which they waited for one. From here on at
  // least one thread waits for each that gets on.
  double contended = 0.5;
  // Of the length of the recording, by the kernel's own account (PSI): from here on it is told beside the class.
  double stalled = 0.1;
};
inline constexpr ProblemThresholds kProblemThresholds;

struct ProblemClass {
  ProblemKind kind = ProblemKind::kUnknown;
  bool waits_known = false;
  double busy_s = 0;  // 0: waits were not recorded
  double busy = 0;    // of the length of the recording: the rest, nobody had work. Without waits: CPUs used
  // Parts of the busy time: at least one thread ran; none ran and one could have; none of both, and they waited for this.
  double ran = 0, disk = 0, peers = 0, locks = 0, slept = 0;
  // The part in which pages were waited for, or the CPU time that page faults took, whichever is more.
  double memory = 0;
  double queued = 0;     // of the time that threads could run: without a CPU
  double throttled = 0;  // the part of that in which the CPU quota of the control group was used up
  double contended = 0;  // see ProblemThresholds
  double share() const;  // that decided it
  // Locks: while some threads got on, more of them waited for one, and it is that which decided.
  bool by_contention() const;
  // Run queue: it is mostly the quota that takes the CPUs away.
  bool by_quota() const { return throttled > 0.5 * queued; }
  PressureView pressure = {};
  MemoryProblem memory_problem = {};  // told beside the kind, which is about time
};

// Without recorded waits only an idle target and one that keeps a CPU busy can be told.
ProblemClass classify(const Report& report);

}  // namespace fathom::analysis
