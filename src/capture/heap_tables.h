// What the heap collector counted -> the heap tables of the profile: the collector's numbers of stacks,
// allocators and threads become rows. Pure: what is asked of the process comes in as arguments.
//
//   heap.stack(new_stack.stack, resolver.resolve(...).stack)      for each new stack of a round
//   heap.add(*collector.slice(), thread_of)                       then append, then profile.heap.rows.clear()
//   heap.finish(collector.summary(), collector.counters())        before the last append; also now and then,
//                                                                 so that a killed recording has it
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "profile/profile.h"
#include "record/heap/collector.h"

namespace fathom::capture {

class HeapTables {
 public:
  // Adds a row to profile.heap.heaps: `heap` says what is known at the start (process, mode, from_start,
  // start_ns, earlier_rss_bytes). `profile` outlives it.
  HeapTables(profile::Profile& profile, const profile::Heap& heap);

  // Who hides behind the number in the blocks' top byte. Before the first slice.
  void allocator(std::uint32_t number, profile::HeapAllocatorId id);
  // Where the collector's stack stands in the profile. Stacks that are never told count as not walked.
  void stack(std::uint32_t stack, profile::StackId id, profile::WalkEnd end);

  // Appends the slice with its new sites and its rows. `thread_of` turns a tid of the target's own pid
  // namespace into a row; kNoThread if it knows none. Asked once per site.
  void add(const record::heap::Slice& slice,
           const std::function<profile::ThreadId(std::uint32_t tid)>& thread_of);

  // Appends the lives of blocks, with the sites that are new among them. `thread_of` as in add().
  void add(const record::heap::BlockBatch& batch,
           const std::function<profile::ThreadId(std::uint32_t tid)>& thread_of);
  // Appends one more, of a site that was told.
  void add(const record::heap::BlockLife& life,
           const std::function<profile::ThreadId(std::uint32_t tid)>& thread_of);

  // Replaces what is of the whole recording: the peak, summaries, histograms and counters.
  void finish(const record::heap::Summary& summary, const record::heap::Counters& counters);

 private:
  struct Known {
    profile::StackId stack;
    profile::WalkEnd end = 0;
  };
  void add_sites(std::uint32_t first, const std::vector<record::heap::SiteKey>& keys,
                 const std::function<profile::ThreadId(std::uint32_t tid)>& thread_of);
  profile::HeapSiteId site(const record::heap::SiteKey& key, profile::ThreadId thread);

  profile::Profile& profile_;
  profile::HeapId heap_;
  std::array<profile::HeapAllocatorId, TRACER_ALLOCATORS> allocators_{};
  std::vector<Known> stacks_ = std::vector<Known>(1);     // by the collector's number
  std::vector<profile::HeapSiteId> sites_;                // by the collector's number
  std::map<profile::HeapSite, profile::HeapSiteId> ids_;  // two of its sites may be one row
};

}  // namespace fathom::capture
