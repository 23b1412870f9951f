// Time-stamp counter ticks to CLOCK_MONOTONIC. The tracer stamps events with the counter, as reading it is
// the one clock that costs next to nothing; all else in a recording is on CLOCK_MONOTONIC.
//
// The line goes through the first pair and the newest one, so it gets better the longer it lasts: reading a
// pair errs by some 100 ns, which after a second is one part in 10^7. Needs a counter of constant rate that
// all CPUs share (linux/process/counter_trust.h); where there is none, events have another clock (event_clock.h).
#pragma once

#include <time.h>

#include <cstdint>

#include "base/arch/ticks.h"
#include "base/clock.h"

namespace fathom::sources::heap {

// The same moment on both clocks.
struct Moment {
  std::uint64_t ticks = 0;  // raw, or since tracer_shared::tsc_base: the caller says which
  std::uint64_t ns = 0;
};

// The counter is read before and after, and the pair with the smallest gap of a few tries is kept: a thread
// that lost its CPU in between would be off by milliseconds.
inline Moment read_clocks() {
  Moment best;
  std::uint64_t smallest = UINT64_MAX;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t before = arch::read_ticks();
    const std::uint64_t ns = clock_ns(CLOCK_MONOTONIC);
    const std::uint64_t after = arch::read_ticks();
    if (after - before >= smallest) continue;
    smallest = after - before;
    best = {before + smallest / 2, ns};
  }
  return best;
}

class TickClock {
 public:
  // Pairs go forward in time. Those too close to the first to give a rate are ignored.
  void add(const Moment& moment) {
    if (first_.ns == 0) {
      first_ = moment;
      return;
    }
    constexpr std::uint64_t kLeastNs = 1'000'000;
    if (moment.ticks <= first_.ticks || moment.ns < first_.ns + kLeastNs) return;
    ns_per_tick_ =
        static_cast<double>(moment.ns - first_.ns) / static_cast<double>(moment.ticks - first_.ticks);
  }
  double ns_per_tick() const { return ns_per_tick_; }
  std::uint64_t ns(std::uint64_t ticks) const {
    const double away = ticks >= first_.ticks ? static_cast<double>(ticks - first_.ticks)
                                              : -static_cast<double>(first_.ticks - ticks);
    const double ns = away * ns_per_tick_;
    // Ticks may come from the target: whatever they say, the result is a time.
    constexpr double kFar = 4e18;
    if (ns >= kFar) return UINT64_MAX / 2;
    if (-ns >= static_cast<double>(first_.ns)) return 0;
    return first_.ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(ns));
  }

 private:
  Moment first_;
  double ns_per_tick_ = 1.0 / 3;  // until there is a second pair
};

}  // namespace fathom::sources::heap
