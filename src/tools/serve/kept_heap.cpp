#include "tools/serve/kept_heap.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/heap_sums.h"

namespace fathom::serve {

void KeptHeap::take(model::HeapTables& heap) {
  std::vector<Slice> taken;
  for (const model::HeapSlice& slice : heap.slices) taken.push_back({slice, {}, false});
  for (const model::HeapRow& row : heap.rows) {
    add_row(taken[row.slice.value].rows, row);
  }
  heap.slices.clear();
  heap.rows.clear();
  heap.blocks.clear();
  for (Slice& next : taken) {
    const auto last = std::find_if(slices_.rbegin(), slices_.rend(),
                                   [&](const Slice& kept) { return kept.slice.heap == next.slice.heap; });
    const bool joins =
        last != slices_.rend() && !last->ended && next.slice.end_ns <= last->slice.start_ns + slice_ns_;
    if (!joins) {
      // One that was cut where another one ended, without an event in between.
      if (next.rows.empty() && next.slice.start_ns == next.slice.end_ns) continue;
      slices_.push_back(std::move(next));
      continue;
    }
    model::join_slice(last->slice, next.slice);
    for (const auto& [site, row] : next.rows) add_row(last->rows, row);
  }
}

void KeptHeap::end_slices() {
  for (Slice& slice : slices_) slice.ended = true;
}

void KeptHeap::fold_into_sums(const Slice& slice) {
  const auto [folded, first] = folded_.emplace(slice.slice.heap, slice.slice);
  if (!first) model::join_slice(folded->second, slice.slice);
  for (const auto& [site, row] : slice.rows) {
    model::HeapRow& sum = add_row(sums_, row);
    // The sums begin with the heap, so what was freed in them was allocated in them.
    sum.churn_variance = sum.freed_variance.bytes;
  }
}

void KeptHeap::forget(std::uint64_t until_ns) {
  std::erase_if(slices_, [&](const Slice& slice) {
    if (!slice.ended || slice.slice.end_ns > until_ns) return false;
    fold_into_sums(slice);
    return true;
  });
}

void KeptHeap::add_to(Excerpt& excerpt, std::uint64_t from_ns, std::uint64_t until_ns,
                      Opening opening) const {
  const model::Profile& whole = excerpt.whole();
  std::map<model::HeapId, model::HeapSlice> openings = folded_;
  HeapRows before = sums_;
  std::vector<Slice> inside;
  for (const Slice& slice : slices_) {
    if (middle_of(slice.slice) >= until_ns) continue;
    if (middle_of(slice.slice) >= from_ns || opening == Opening::kAllocated) {
      inside.push_back(slice);
      continue;
    }
    const auto [known, first] = openings.emplace(slice.slice.heap, slice.slice);
    if (!first) model::join_slice(known->second, slice.slice);
    for (const auto& [site, row] : slice.rows) add_row(before, row);
  }
  // A process that ended holds nothing any more.
  const auto is_there = [&](model::HeapId id) {
    const model::Heap& heap = whole.heap.heaps[id.value];
    const std::uint64_t end = whole.processes[heap.process.value].end_ns;
    return heap.start_ns < until_ns && (opening == Opening::kAllocated || end == 0 || end > from_ns);
  };
  for (std::uint32_t i = 0; i < whole.heap.heaps.size(); ++i)
    if (is_there({i})) excerpt.heap({i});
  for (const auto& [id, slice] : openings) {
    if (!is_there(id)) continue;
    const model::HeapSliceId in = excerpt.add(opening == Opening::kLive ? as_opening(slice, from_ns) : slice);
    for (auto& [site, sums] : before) {
      if (whole.heap.sites[site.value].heap != id) continue;
      if (opening == Opening::kAllocated || leave_live(sums)) excerpt.add(sums, in);
    }
  }
  for (const Slice& slice : inside) {
    if (!is_there(slice.slice.heap)) continue;
    const model::HeapSliceId in = excerpt.add(slice.slice);
    for (const auto& [site, row] : slice.rows) excerpt.add(row, in);
  }
  excerpt.end_heaps(until_ns);
  if (opening == Opening::kLive) fold_slices(excerpt.profile(), slice_ns_);
}

}  // namespace fathom::serve
