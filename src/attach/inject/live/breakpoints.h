// Watches a few addresses in a running process for some milliseconds, by the processor's own registers for breakpoints, through
// perf events. No byte of the process changes and no thread of it is stopped; each hit costs the thread that has it some 10 us.
//
// The kernel ends each breakpoint after a number of hits, and all of them with the descriptors: a profiler that hangs costs the
// process no more than that, and one that is killed nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attach/inject/live/hit_records.h"
#include "base/result.h"

namespace fathom::inject {

// Registers of the processor, of each thread.
inline constexpr std::size_t kBreakpointRegisters = 4;

struct WatchLimits {
  std::uint64_t
      hits;  // all points and threads together; at most 2^30. A point of a thread ends after half of that, or sooner
  std::chrono::milliseconds time;
};

struct Watch {
  std::vector<Hit> hits;  // in the order of time, while all was watched
  std::uint64_t met = 0;  // hits in all: what the process paid for
  std::uint64_t lost = 0;
  std::uint64_t duration_ns = 0;  // from the first breakpoint that was set to the last that was removed
  std::size_t threads = 0;        // that were watched
  bool all_threads = false;       // of the process, from the beginning to the end
};

// `points`: at most kBreakpointRegisters. Blocks until one of the limits is reached or the process has ended. kUnsupported: breakpoints
// are not to be had here, or others have them; why.
Result<Watch> watch_points(int pid, std::span<const WatchedPoint> points, const WatchLimits& limits);

}  // namespace fathom::inject
