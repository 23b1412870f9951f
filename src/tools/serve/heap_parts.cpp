#include "tools/serve/heap_parts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/heap_sums.h"

namespace fathom::serve {
namespace {

// Estimates of what came and went may leave a tiny difference, positive or negative.
double left_of(double came, double went) {
  const double left = came - went;
  return left <= 1e-9 * came ? 0 : left;
}

// The slices of a heap table anew: each old slice goes into one of the new ones, or into none.
class NewSlices {
 public:
  explicit NewSlices(model::HeapTables& heap) : heap_(heap), now_(heap.slices.size(), kNone) {}

  std::uint32_t begin(const model::HeapSlice& slice) {
    slices_.push_back(slice);
    return static_cast<std::uint32_t>(slices_.size() - 1);
  }
  void put(std::size_t old, std::uint32_t into) { now_[old] = into; }
  model::HeapSlice& operator[](std::uint32_t slice) { return slices_[slice]; }

  // Rows of one site and slice become one; `last` may change it, and false drops it.
  template <class Last>
  void replace(Last last) {
    std::vector<HeapRows> rows(slices_.size());
    for (const model::HeapRow& row : heap_.all_rows())
      if (now_[row.slice.value] != kNone) add_row(rows[now_[row.slice.value]], row);
    heap_.rows.clear();
    heap_.packed_rows = {};
    for (std::uint32_t i = 0; i < rows.size(); ++i)
      for (auto& [site, row] : rows[i]) {
        row.slice = {i};
        if (last(row)) heap_.rows.push_back(row);
      }
    heap_.slices = std::move(slices_);
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  model::HeapTables& heap_;
  std::vector<std::uint32_t> now_;
  std::vector<model::HeapSlice> slices_;
};

}  // namespace

model::HeapRow& add_row(HeapRows& into, const model::HeapRow& row) {
  const auto [known, added] = into.emplace(row.site, row);
  model::HeapRow& sum = known->second;
  if (added) return sum;
  model::add_sums(sum, row);
  sum.churn_variance += row.churn_variance;
  return sum;
}

model::HeapSlice as_opening(model::HeapSlice slice, std::uint64_t start_ns) {
  slice.end_ns = std::min(slice.end_ns, start_ns);
  slice.peak_ns = slice.end_ns;  // an earlier one is not of this recording
  slice.peak_bytes = slice.live_bytes;
  return slice;
}

bool leave_live(model::HeapRow& sums) {
  model::HeapRow live;
  live.slice = sums.slice;
  live.site = sums.site;
  live.allocated = {left_of(sums.allocated.blocks, sums.freed.blocks),
                    left_of(sums.allocated.bytes, sums.freed.bytes)};
  if (live.allocated != model::HeapSum{})
    live.allocated_variance = {std::max(0.0, sums.allocated_variance.blocks - sums.freed_variance.blocks),
                               std::max(0.0, sums.allocated_variance.bytes - sums.freed_variance.bytes)};
  sums = live;
  return live.allocated != model::HeapSum{};
}

void fold_slices(model::Profile& profile, std::uint64_t slice_ns) {
  model::HeapTables& heap = profile.heap;
  NewSlices slices(heap);
  std::map<model::HeapId, std::uint32_t> last;
  for (std::size_t i = 0; i < heap.slices.size(); ++i) {
    const model::HeapSlice& slice = heap.slices[i];
    const auto known = last.find(slice.heap);
    const bool joins = known != last.end() && slice.end_ns <= slices[known->second].start_ns + slice_ns;
    const std::uint32_t into = joins ? known->second : slices.begin(slice);
    if (joins) model::join_slice(slices[into], slice);
    slices.put(i, into);
    if (!is_opening(slice, profile.meta.start_ns)) last[slice.heap] = into;
  }
  slices.replace([](model::HeapRow&) { return true; });
}

void cut_heap(model::Profile& profile, std::uint64_t from_ns, std::uint64_t until_ns) {
  model::HeapTables& heap = profile.heap;
  NewSlices slices(heap);
  std::map<model::HeapId, std::uint32_t> openings;
  for (std::size_t i = 0; i < heap.slices.size(); ++i) {
    const model::HeapSlice& slice = heap.slices[i];
    if (middle_of(slice) >= until_ns) continue;
    if (middle_of(slice) >= from_ns) {
      slices.put(i, slices.begin(slice));
      continue;
    }
    const auto known = openings.find(slice.heap);
    const std::uint32_t into = known == openings.end() ? slices.begin(slice) : known->second;
    if (known != openings.end()) model::join_slice(slices[into], slice);
    slices.put(i, openings.emplace(slice.heap, into).first->second);
  }
  std::vector<char> opens;
  for (const auto& [id, slice] : openings) {
    slices[slice] = as_opening(slices[slice], from_ns);
    opens.resize(std::max<std::size_t>(opens.size(), slice + 1));
    opens[slice] = 1;
  }
  slices.replace([&](model::HeapRow& row) {
    return row.slice.value >= opens.size() || opens[row.slice.value] == 0 || leave_live(row);
  });
  heap.summaries.clear();
  heap.histograms.clear();
  heap.uses.clear();
  heap.returns.clear();
  heap.blocks.clear();
  std::erase_if(heap.outages, [&](const model::HeapOutage& row) { return row.start_ns >= until_ns; });
  measure_heaps(heap);
}

void measure_heaps(model::HeapTables& heap) {
  for (model::Heap& row : heap.heaps) {
    row.end_ns = row.start_ns;
    row.peak_ns = 0;
    row.peak_bytes = row.peak_blocks = 0;
  }
  for (const model::HeapSlice& slice : heap.slices) {
    model::Heap& row = heap.heaps[slice.heap.value];
    row.end_ns = std::max(row.end_ns, slice.end_ns);
    if (slice.peak_bytes <= row.peak_bytes) continue;
    row.peak_ns = slice.peak_ns;
    row.peak_bytes = slice.peak_bytes;
    row.peak_blocks = slice.live_blocks;
  }
}

}  // namespace fathom::serve
