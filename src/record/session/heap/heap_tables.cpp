#include "record/session/heap/heap_tables.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fathom::session {
namespace {

using namespace model;

// What was live and is gone may leave a hair less than nothing, where it was estimated.
double not_negative(double value) {
  return value > 0 ? value : 0;
}
HeapSum sum_of(const sources::heap::Sum& sum) {
  return {not_negative(sum.blocks), not_negative(sum.bytes)};
}
HeapVariance variance_of(const sources::heap::Sum& sum) {
  return {not_negative(sum.blocks), not_negative(sum.bytes)};
}
void add(HeapSum& sum, const sources::heap::Sum& more) {
  sum.blocks += not_negative(more.blocks);
  sum.bytes += not_negative(more.bytes);
}

}  // namespace

HeapTables::HeapTables(Profile& profile, const model::Heap& heap)
    : profile_(profile), heap_{static_cast<std::uint32_t>(profile.heap.heaps.size())} {
  profile_.heap.heaps.push_back(heap);
}

void HeapTables::allocator(std::uint32_t number, HeapAllocatorId id) {
  if (number < allocators_.size()) allocators_[number] = id;
}

void HeapTables::stack(std::uint32_t stack, StackId id, WalkEnd end) {
  if (stack >= stacks_.size()) stacks_.resize(std::size_t{stack} + 1);
  stacks_[stack] = {id, end};
}

HeapSiteId HeapTables::site(const sources::heap::SiteKey& key, ThreadId thread) {
  HeapSite row;
  row.heap = heap_;
  row.allocator = allocators_[key.allocator % allocators_.size()];
  row.thread = thread;
  if (key.stack < stacks_.size()) {
    row.stack = stacks_[key.stack].stack;
    row.end = stacks_[key.stack].end;
  }
  const auto next = HeapSiteId{static_cast<std::uint32_t>(profile_.heap.sites.size())};
  const auto [found, added] = ids_.emplace(row, next);
  if (added) profile_.heap.sites.push_back(row);
  return found->second;
}

void HeapTables::add_sites(std::uint32_t first, const std::vector<sources::heap::SiteKey>& keys,
                           const std::function<ThreadId(std::uint32_t tid)>& thread_of) {
  sites_.resize(first);
  for (const sources::heap::SiteKey& key : keys)
    sites_.push_back(site(key, key.tid == 0 ? kNoThread : thread_of(key.tid)));
}

void HeapTables::add(const sources::heap::BlockBatch& batch,
                     const std::function<ThreadId(std::uint32_t tid)>& thread_of) {
  add_sites(batch.first_new_site, batch.new_sites, thread_of);
  for (const sources::heap::BlockLife& life : batch.blocks) add(life, thread_of);
}

void HeapTables::add(const sources::heap::BlockLife& life,
                     const std::function<ThreadId(std::uint32_t tid)>& thread_of) {
  HeapBlock row;
  row.site = sites_[life.site];
  row.address = life.address;
  row.size = life.size;
  row.allocated_ns = life.allocated_ns;
  row.lifetime_ns = life.lifetime_ns;
  row.first_slice = life.first_slice;
  row.last_slice = life.last_slice;
  row.freed_by = life.freed_by == 0 ? kNoThread : thread_of(life.freed_by);
  row.mean_bytes = life.mean;
  row.temporary = life.temporary;
  profile_.heap.blocks.push_back(row);
}

void HeapTables::add(const sources::heap::Slice& slice,
                     const std::function<ThreadId(std::uint32_t tid)>& thread_of) {
  add_sites(slice.first_new_site, slice.new_sites, thread_of);

  profile_.heap.heaps[heap_.value].end_ns = slice.end_ns;
  const auto id = HeapSliceId{static_cast<std::uint32_t>(profile_.heap.slices.size())};
  HeapSlice row;
  row.heap = heap_;
  row.start_ns = slice.start_ns;
  row.end_ns = slice.end_ns;
  row.peak_ns = slice.peak_ns;
  row.peak_bytes = slice.peak_bytes;
  row.live_bytes = not_negative(slice.live.bytes);
  row.live_blocks = not_negative(slice.live.blocks);
  profile_.heap.slices.push_back(row);
  for (const sources::heap::SliceRow& from : slice.rows) {
    HeapRow to;
    to.slice = id;
    to.site = sites_[from.site];
    to.allocated = sum_of(from.sums.allocated);
    to.freed = sum_of(from.sums.freed);
    to.temporary = sum_of(from.sums.temporary);
    to.short_lived = sum_of(from.sums.short_lived);
    to.allocated_variance = variance_of(from.allocated_variance);
    to.freed_variance = variance_of(from.freed_variance);
    to.churn_variance = from.churn_variance;
    profile_.heap.rows.push_back(to);
  }
}

void HeapTables::end_image(const sources::heap::Sum& dropped) {
  model::Heap& heap = profile_.heap.heaps[heap_.value];
  heap.image_ended = true;
  heap.dropped_blocks =
      static_cast<std::uint64_t>(std::llround(not_negative(std::min(dropped.blocks, 1e18))));
  heap.dropped_bytes = static_cast<std::uint64_t>(std::llround(not_negative(std::min(dropped.bytes, 1e18))));
}

void HeapTables::finish(const sources::heap::Summary& summary, const sources::heap::Counters& counters,
                        const std::vector<sources::heap::Outage>& outages) {
  model::Heap& heap = profile_.heap.heaps[heap_.value];
  // As long as no sample came, it is the one that was asked for.
  if (heap.mode == HeapMode::kExact)
    heap.mean_bytes = 0;
  else if (counters.mean != 0)
    heap.mean_bytes = counters.mean;
  heap.peak_ns = summary.peak_ns;
  heap.peak_bytes = summary.peak.bytes;
  heap.peak_blocks = summary.peak.blocks;
  heap.events = counters.events;
  heap.earlier_frees = counters.unknown_frees;
  heap.unseen_frees = counters.unseen_frees;
  heap.invalid_frees = counters.invalid_frees;
  heap.unwalked = counters.unwalked;
  heap.incomplete = counters.incomplete;
  heap.merged_sites = counters.merged + counters.not_followed;
  heap.lost_damaged = counters.rings_given_up + (counters.impossible != 0 ? 1 : 0);
  heap.lost_ring_full = counters.lost_ring_full + counters.lost_at_end;
  heap.lost_no_ring = counters.lost_no_ring + counters.lost_no_slot;
  heap.lost_throwing = counters.lost_throwing;
  heap.lost_set_full = counters.lost_set_full;
  heap.nested = counters.nested;
  heap.waited_ns = counters.waited_ns;
  heap.switched_off = counters.switched_off;
  heap.lost_blocks = counters.lost_blocks;

  std::map<HeapSiteId, HeapSummary> sites;
  std::map<HeapSiteId, HeapUse> uses;
  std::map<HeapSiteId, HeapReturn> returns;
  std::map<std::tuple<HeapSiteId, HeapHistogramKind, std::uint8_t>, HeapSum> buckets;
  for (const sources::heap::SiteSummary& from : summary.sites) {
    if (from.site >= sites_.size()) continue;  // of a slice that is not closed yet
    const HeapSiteId site = sites_[from.site];
    HeapSummary& to = sites.try_emplace(site, HeapSummary{site, {}, {}, 0}).first->second;
    ::fathom::session::add(to.peak, from.peak);
    to.peak_variance.blocks += not_negative(from.peak_variance.blocks);
    to.peak_variance.bytes += not_negative(from.peak_variance.bytes);
    to.longest_ns = std::max(to.longest_ns, from.longest_ns);
    if (from.live_usable != 0 || from.misuse.wrong_size.blocks != 0 || from.misuse.foreign.blocks != 0 ||
        from.misuse.twice.blocks != 0) {
      HeapUse& use = uses.try_emplace(site, HeapUse{site, 0, {}, {}}).first->second;
      use.live_usable += not_negative(from.live_usable);
      ::fathom::session::add(use.wrong_size, from.misuse.wrong_size);
      ::fathom::session::add(use.foreign, from.misuse.foreign);
      ::fathom::session::add(use.twice, from.misuse.twice);
    }
    if (from.given_back.blocks != 0)
      ::fathom::session::add(returns.try_emplace(site, HeapReturn{site, {}}).first->second.given_back,
                             from.given_back);
    for (const auto& [kind, rows] : {std::pair(HeapHistogramKind::kSize, &from.sizes),
                                     std::pair(HeapHistogramKind::kLifetime, &from.lifetimes_ns),
                                     std::pair(HeapHistogramKind::kAge, &from.ages_ns)})
      for (const sources::heap::Bucket& row : *rows)
        ::fathom::session::add(buckets[{site, kind, row.bucket}], row.sum);
  }
  // Those of other heaps stay.
  auto& tables = profile_.heap;
  const auto ours = [&](const auto& row) { return tables.sites[row.site.value].heap == heap_; };
  std::erase_if(tables.summaries, ours);
  std::erase_if(tables.histograms, ours);
  std::erase_if(tables.uses, ours);
  std::erase_if(tables.returns, ours);
  std::erase_if(tables.outages, [&](const HeapOutage& row) { return row.heap == heap_; });
  for (const sources::heap::Outage& outage : outages)
    tables.outages.push_back({heap_, outage.start_ns, outage.end_ns});
  for (const auto& row : uses) tables.uses.push_back(row.second);
  for (const auto& row : returns) tables.returns.push_back(row.second);
  for (const auto& row : sites) tables.summaries.push_back(row.second);
  for (const auto& [key, sum] : buckets)
    tables.histograms.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), sum});
}

}  // namespace fathom::session
