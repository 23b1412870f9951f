// What kind of problem a recording shows: where the time of the target's threads goes, idle pools and event loops left out.
// A first answer, by fixed thresholds that are said with it, and the way to the next command.
#pragma once

#include <cstdint>

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

// Parts of the active time from which on a kind is named; the largest of those that reach theirs is.
struct ProblemThresholds {
  double idle_below = 0.1;  // active time by the length of the recording: a tenth of one thread
  double ran = 0.7;
  double queued = 0.25;
  double waited = 0.3;  // for memory, disk, peers, locks or a time
  // Of the length of the recording, by the kernel's own account (PSI): from here on it is told beside the class.
  double stalled = 0.1;
};
inline constexpr ProblemThresholds kProblemThresholds;

struct ProblemClass {
  ProblemKind kind = ProblemKind::kUnknown;
  bool waits_known = false;
  double active_ns = 0;       // of all threads: ran, queued, and waited but for idle waits
  double threads_active = 0;  // active_ns by the length of the recording
  // Parts of active_ns. `memory` is partly in `ran`, as page faults take CPU time.
  double ran = 0, queued = 0, memory = 0, disk = 0, peers = 0, locks = 0, slept = 0;
  double share() const;  // that decided it
  PressureView pressure = {};
};

// Without recorded waits only an idle target and one that keeps a CPU busy can be told.
ProblemClass classify(const Report& report);

}  // namespace fathom::analysis
