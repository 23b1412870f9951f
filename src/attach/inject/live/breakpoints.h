// Watches a few addresses in a running process for some milliseconds, with hardware breakpoints, through perf
// events. Changes no byte of the process and stops no thread; each hit costs its thread about 10 us.
//
// The kernel disables each breakpoint after a number of hits, and all of them when the descriptors are
// closed: a hanging profiler costs the process no more than that, and a killed one nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attach/inject/live/hit_records.h"
#include "base/result.h"

namespace fathom::inject {

// Hardware breakpoint registers per thread.
inline constexpr std::size_t kBreakpointRegisters = 4;

struct WatchLimits {
  std::uint64_t
      hits;  // all points and threads together; at most 2^30. A point of a thread ends after half of them, or
             // sooner
  std::chrono::milliseconds time;
};

struct Watch {
  std::vector<Hit> hits;  // in time order, from the period in which all points were watched
  std::uint64_t met = 0;  // all hits: those that the process paid for
  std::uint64_t lost = 0;
  std::uint64_t duration_ns = 0;  // from setting the first breakpoint to removing the last
  std::size_t threads = 0;        // watched threads
  bool all_threads = false;       // all threads of the process, for the whole time
};

// `points`: at most kBreakpointRegisters. Blocks until one of the limits is reached or the process has ended.
// kUnsupported, with the reason: breakpoints are not available here, or another program uses them.
Result<Watch> watch_points(int pid, std::span<const WatchedPoint> points, const WatchLimits& limits);

}  // namespace fathom::inject
