// What kind of problem a recording shows, judged by wall-clock time: what the program as a whole did at each
// moment (WallTime). A first answer by fixed thresholds, which are printed with it, plus the next command to
// run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/stacks/look.h"
#include "analysis/summary/memory_problem.h"
#include "analysis/summary/pressure.h"
#include "analysis/summary/report.h"

namespace fathom::analysis {

enum class ProblemKind : std::uint8_t {
  kUnknown,  // no data to decide by
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
  kUnended,  // for other threads, which never came: stuck, or idle in a way that no rule knows
};

// Parts of the busy time from which a kind is named; the largest of those that reach their threshold is.
struct ProblemThresholds {
  double idle_below = 0.1;     // busy time by the length of the recording
  double least_busy_s = 0.05;  // too short to judge below this: starting the program takes as long
  double ran = 0.7;
  double queued = 0.25;
  double waited = 0.3;  // for memory, disk, peers, locks or a time
  // Of the time of threads that ran, could have, or waited for a lock: the part in which they waited for one.
  // From here at least one thread waits for each that makes progress.
  double contended = 0.5;
  // Share of the recording's length, by the kernel's own accounting (PSI): from here up it is printed next
  // to the class.
  double stalled = 0.1;
};
inline constexpr ProblemThresholds kProblemThresholds;

// A kind that reaches its threshold next to the first one.
struct FurtherKind {
  enum class Of : std::uint8_t {
    kBusy,      // of the busy time
    kUnqueued,  // of the busy time in which no thread stood in the run queue while none ran
    kCpuTime,
    kAble,    // of the time that threads could run
    kWork,    // of the time of threads that had work
    kActive,  // of the active time of all threads: ProblemClass::by_threads
  };
  ProblemKind kind;
  double share;
  Of of = Of::kBusy;
};

struct ProblemClass {
  ProblemKind kind = ProblemKind::kUnknown;
  bool waits_known = false;
  bool waits_summed = false;  // not known by moment and cause, but by stack
  // Causes are known and moments are not, as of rows that a server added up: parts are of the time in which threads ran, waited for a
  // CPU, or waited without being idle, added up over all threads.
  bool by_threads = false;
  double busy_s = 0;  // 0: waits were not recorded
  double busy = 0;    // of the length of the recording: the rest, no thread had work. Without waits: CPUs
                      // used
  // Parts of the busy time: at least one thread ran; none ran and one could have; none of both, and they waited for this.
  double ran = 0, disk = 0, peers = 0, locks = 0, slept = 0, unended = 0;
  // The time spent waiting for pages, or the CPU time of page faults, whichever is more.
  double memory = 0;
  double queued = 0;     // of the time that threads could run: without a CPU
  double throttled = 0;  // the part of that in which the CPU quota of the control group was used up
  double yielded = 0;    // the part of that before which the thread gave up its CPU itself
  double contended = 0;  // see ProblemThresholds
  double starved = 0;    // of the busy time: no thread ran, and at least one could have
  double pages = 0;      // of the CPU time: below functions of the kernel that provide pages
  // The largest first: a program that is short of CPUs may wait for a disk, too.
  std::vector<FurtherKind> also = {};
  double share_of(ProblemKind kind) const;  // that decides about it
  double share() const { return share_of(kind); }
  // Of locks: no silence of all threads shows them, but while some threads got on, more of them waited for one.
  bool by_contention() const;
  // Run queue: it is mostly the quota that takes the CPUs away, or the quota alone would be enough.
  bool by_quota() const { return throttled > 0.5 * queued; }
  bool by_quota_too() const { return !by_quota() && throttled >= kProblemThresholds.queued; }
  // What a look at the end found, if threads do not go on at all. Printed before the kind, which is about time.
  std::optional<stacks::Finding> stuck = {};
  std::uint64_t stuck_seen_ns = 0;  // when that look was made, after the start; 0: near the end
  PressureView pressure = {};
  MemoryProblem memory_problem = {};  // printed next to the kind, which is about time
};

// Without recorded waits only an idle target and one that keeps a CPU busy can be recognized. Of waits that were added up, the time of
// all threads decides, unless the program keeps a CPU busy.
ProblemClass classify(const Report& report);

}  // namespace fathom::analysis
