// Memory calls -> what is mapped and who took it, in the form that the collector of the tracer's events
// gives: slices of time, sites, a summary. Calls are few, so there is nothing clever here. Times are
// CLOCK_MONOTONIC nanoseconds. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "linux/events.h"
#include "record/heap/collector.h"
#include "record/heap/mapping_book.h"
#include "record/heap/sites.h"

namespace fathom::sources::heap {

class MappingCollector {
 public:
  // `start_ns`: slices begin here. `slice_ns`: their length at first; it doubles after each 512.
  explicit MappingCollector(std::uint64_t start_ns, std::uint64_t slice_ns = 1'000'000'000);

  // MemoryCall::stack_id is the number of a stack as the caller counts them, 0: not walked. In time order.
  // `caller`: SiteKey::allocator of what an madvise gives back; all else is of allocator 0.
  void take(const MemoryCall& call, std::uint32_t caller = 0);
  // As Collector::slice(): the slice that lasts until `now_ns`, if it is long enough or the last one.
  std::optional<Slice> slice(std::uint64_t now_ns, bool last = false);
  // The slice with the calls since the last one, if nothing was called after it until `now_ns`. Who reads slices takes it that
  // things happened at any time in one, so silence must not be part of it. nullopt: it lasts until `now_ns`.
  std::optional<Slice> settled_slice(std::uint64_t now_ns);
  Summary summary() const;
  const MappingBook& book() const { return book_; }
  const Sum& live() const { return sites_.live(); }

 private:
  std::uint32_t site_of(const MappingBook::Change& change);
  void give_back(const MemoryCall& call, std::uint32_t caller);

  MappingBook book_;
  Sites sites_;
  std::vector<MappingBook::Change> changes_;
  std::vector<Sum> given_back_;  // by site; it may be shorter
  std::uint64_t start_ns_, slice_ns_, last_call_ns_ = 0;
  std::uint32_t slices_ = 0, sites_told_ = 0;
};

}  // namespace fathom::sources::heap
