// How far the numbers of traced heaps can be believed. Whatever says "every call", "exact" or "never freed"
// asks here whether it may.
#pragma once

#include <cstdint>
#include <optional>

#include "model/profile.h"

namespace fathom::model {

// Of one heap, or of several together.
struct HeapExactness {
  bool sampled = false, exact = false;  // both where heaps of both kinds are taken together
  std::uint64_t events = 0;
  // Events that did not arrive, by what became of them (Heap).
  std::uint64_t lost_ring_full = 0, lost_no_ring = 0, lost_throwing = 0, lost_set_full = 0;
  std::uint64_t damaged_rings = 0;  // nobody knows how many events they held
  std::uint64_t outages = 0, outage_ns = 0;
  std::uint64_t known_since_ns = 0;  // CLOCK_MONOTONIC: the end of the last outage; 0: there was none
  bool switched_off = false;

  std::uint64_t lost() const { return lost_ring_full + lost_no_ring + lost_throwing + lost_set_full; }
  // The lost events that may have been frees. At most so many blocks look live that are not; a lost event of
  // the other kinds is an allocation for sure.
  std::uint64_t lost_frees() const { return lost_ring_full + lost_no_ring; }
  // What is missing is known to be no more than lost(): there are no stretches of which nothing is known.
  bool countable() const { return damaged_rings == 0 && outages == 0 && !switched_off; }
  // Nothing is missing. Only then is an exact heap exact, and an error of 0 a true one.
  bool complete() const { return lost() == 0 && countable(); }
};

HeapExactness exactness_of(const Profile& profile, HeapId heap);
// Of all heaps, or of those of one process.
HeapExactness exactness_of(const Profile& profile, std::optional<std::int32_t> pid = std::nullopt);

}  // namespace fathom::model
