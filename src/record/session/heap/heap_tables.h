// What the heap collector counted -> the heap tables of the profile: the collector's numbers of stacks,
// allocators and threads become rows. Pure: facts about the process are arguments.
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

#include "model/profile.h"
#include "record/heap/collector.h"

namespace fathom::session {

class HeapTables {
 public:
  // Adds a row to profile.heap.heaps: `heap` says what is known at the start (process, mode, from_start,
  // start_ns, earlier_rss_bytes, mean_bytes until the first sample). `profile` outlives it.
  HeapTables(model::Profile& profile, const model::Heap& heap);

  // The owner of the number in the blocks' top byte. Before the first slice.
  void allocator(std::uint32_t number, model::HeapAllocatorId id);
  // The row of the collector's stack in the profile. Stacks that the collector never delivers count as not
  // walked.
  void stack(std::uint32_t stack, model::StackId id, model::WalkEnd end);

  // Appends the slice with its new sites and its rows. `thread_of` turns a tid of the target's own pid
  // namespace into a row; kNoThread if it knows none. Asked once per site.
  void add(const sources::heap::Slice& slice,
           const std::function<model::ThreadId(std::uint32_t tid)>& thread_of);

  // Appends the lives of blocks, with the sites that are new among them. `thread_of` as in add().
  void add(const sources::heap::BlockBatch& batch,
           const std::function<model::ThreadId(std::uint32_t tid)>& thread_of);
  // Appends one more, of a site that was delivered.
  void add(const sources::heap::BlockLife& life,
           const std::function<model::ThreadId(std::uint32_t tid)>& thread_of);

  // The program executed another one, and so much was live then (sources::heap::Collector::end_image).
  void end_image(const sources::heap::Sum& dropped);
  // Replaces what is of the whole recording: the peak, summaries, histograms and counters.
  void finish(const sources::heap::Summary& summary, const sources::heap::Counters& counters,
              const std::vector<sources::heap::Outage>& outages = {});

 private:
  struct Known {
    model::StackId stack;
    model::WalkEnd end = 0;
  };
  void add_sites(std::uint32_t first, const std::vector<sources::heap::SiteKey>& keys,
                 const std::function<model::ThreadId(std::uint32_t tid)>& thread_of);
  model::HeapSiteId site(const sources::heap::SiteKey& key, model::ThreadId thread);

  model::Profile& profile_;
  model::HeapId heap_;
  std::array<model::HeapAllocatorId, TRACER_ALLOCATORS> allocators_{};
  std::vector<Known> stacks_ = std::vector<Known>(1);  // by the collector's number
  std::vector<model::HeapSiteId> sites_;               // by the collector's number
  std::map<model::HeapSite, model::HeapSiteId> ids_;   // two of its sites may be one row
};

}  // namespace fathom::session
