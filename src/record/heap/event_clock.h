// The clock that stamps the tracer's events, either kind (enum tracer_clock), and its conversion to
// CLOCK_MONOTONIC. The counter runs by itself. advance() moves the sequence forward: between two calls it
// only counts events, so a time is early by at most their distance, and never late.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/abi/heap_tracer.h"
#include "record/heap/tick_clock.h"

namespace fathom::sources::heap {

// Moves the sequence to the time if it has not got there by counting, and returns where it stands. Whatever the target
// wrote there, it never goes back.
inline std::uint64_t advance_sequence(tracer_shared& shared, std::uint64_t ns) {
  u64 now = __atomic_load_n(&shared.sequence, __ATOMIC_ACQUIRE);
  while (now < ns &&
         !__atomic_compare_exchange_n(&shared.sequence, &now, ns, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    continue;
  return std::max<std::uint64_t>(now, ns);
}

class EventClock {
 public:
  // `layout` as the profiler planned it; `shared` is the target's, too, and outlives the clock.
  EventClock(const tracer_shared& layout, tracer_shared& shared)
      : shared_(&shared),
        base_(layout.clock == TRACER_CLOCK_SEQUENCE ? layout.sequence_base_ns : layout.tsc_base),
        is_sequence_(layout.clock == TRACER_CLOCK_SEQUENCE) {}

  // Stamps are in the order of what happened to each block, and no two are equal.
  bool is_in_order() const { return is_sequence_; }

  // A stamp that all earlier events are below, and later ones above or equal. Moves the sequence forward.
  std::uint64_t now(const Moment& moment) {
    if (!is_sequence_) {
      clock_.add({moment.ticks - base_, moment.ns});
      return moment.ticks - base_;
    }
    const std::uint64_t ns = moment.ns - std::min(moment.ns, base_);
    clock_.add({ns, moment.ns});
    return advance_sequence(*shared_, ns);
  }
  // The same for times only. May be called while another thread uses the rest.
  void advance(std::uint64_t monotonic_ns) const {
    if (is_sequence_) advance_sequence(*shared_, monotonic_ns - std::min(monotonic_ns, base_));
  }

  double ns_per_tick() const { return clock_.ns_per_tick(); }
  std::uint64_t ns(std::uint64_t ticks) const { return clock_.ns(ticks); }

 private:
  tracer_shared* shared_;
  std::uint64_t base_;
  bool is_sequence_;
  TickClock clock_;  // of stamps
};

}  // namespace fathom::sources::heap
