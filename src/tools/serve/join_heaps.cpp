#include "tools/serve/join_heaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "analysis/core/words.h"
#include "tools/serve/heap_parts.h"

namespace fathom::serve {
namespace {

// Time of the peak of an opening that follows from earlier slices. Slices have it within them, and 0 stays what it is when windows of
// several clocks are merged.
constexpr std::uint64_t kFollows = 0;
// Of a heap, whether it is in the last window. Of two rows of one heap, merging keeps that of the later window.
constexpr std::uint64_t kIsGone = 0, kIsThere = 1;

double difference(double now, double before) {
  const double change = now - before;
  return std::abs(change) <= 1e-9 * std::max(now, before) ? 0 : change;
}

// What brings the sum of a site from `before` to `now`.
model::HeapRow change_of(const model::HeapRow& now, const model::HeapRow& before) {
  model::HeapRow change;
  change.slice = now.slice;
  change.site = now.site;
  const auto put = [](double by, double& came, double& went) { (by > 0 ? came : went) = std::abs(by); };
  put(difference(now.allocated.blocks, before.allocated.blocks), change.allocated.blocks,
      change.freed.blocks);
  put(difference(now.allocated.bytes, before.allocated.bytes), change.allocated.bytes, change.freed.bytes);
  if (change.allocated == model::HeapSum{} && change.freed == model::HeapSum{}) return change;
  put(difference(now.allocated_variance.blocks, before.allocated_variance.blocks),
      change.allocated_variance.blocks, change.freed_variance.blocks);
  put(difference(now.allocated_variance.bytes, before.allocated_variance.bytes),
      change.allocated_variance.bytes, change.freed_variance.bytes);
  return change;
}

bool is_nothing(const model::HeapRow& row) {
  return row.allocated == model::HeapSum{} && row.freed == model::HeapSum{};
}

// One heap of the merged profile, slice by slice.
class Joined {
 public:
  // An opening that follows: becomes the slice of the time that is missing before it, if anything happened in it.
  bool becomes_missing_time(model::HeapSlice& opening, HeapRows& rows) {
    opening.start_ns = end_ns_ == 0 ? opening.end_ns : std::min(end_ns_, opening.end_ns);
    opening.peak_ns = opening.end_ns;
    opening.peak_bytes = opening.live_bytes;
    HeapRows changes;
    for (const auto& [site, row] : rows) {
      model::HeapRow sum;
      if (const auto known = sums_.find(site); known != sums_.end()) sum = known->second;
      (void)leave_live(sum);
      changes[site] = change_of(row, sum);
    }
    for (const auto& [site, sums] : sums_) {
      if (rows.contains(site)) continue;
      model::HeapRow sum = sums, none;
      (void)leave_live(sum);
      none.site = site;
      changes[site] = change_of(none, sum);
    }
    std::erase_if(changes, [](const auto& entry) { return is_nothing(entry.second); });
    rows = std::move(changes);
    return !rows.empty();
  }
  void take(const model::HeapSlice& slice, const HeapRows& rows) {
    end_ns_ = slice.end_ns;
    for (const auto& [site, row] : rows) add_row(sums_, row);
  }
  // Frees all that is live.
  HeapRows end(double& bytes) const {
    HeapRows rows;
    for (const auto& [site, sums] : sums_) {
      model::HeapRow row = sums;
      if (!leave_live(row)) continue;
      std::swap(row.allocated, row.freed);
      std::swap(row.allocated_variance, row.freed_variance);
      bytes += row.freed.bytes;
      rows[site] = row;
    }
    return rows;
  }
  std::uint64_t end_ns() const { return end_ns_; }

 private:
  HeapRows sums_;
  std::uint64_t end_ns_ = 0;
};

}  // namespace

HeapJoin::Key HeapJoin::key_of(const model::Profile& profile, const model::Heap& heap) {
  return {profile.processes[heap.process.value].pid, heap.start_ns, heap.mode};
}

void HeapJoin::add(model::Profile& window, bool is_last) {
  for (model::HeapSlice& slice : window.heap.slices)
    if (is_opening(slice, window.meta.start_ns) &&
        known_.contains(key_of(window, window.heap.heaps[slice.heap.value])))
      slice.peak_ns = kFollows;
  for (model::Heap& heap : window.heap.heaps) {
    heap.peak_ns = is_last ? kIsThere : kIsGone;
    known_.insert(key_of(window, heap));
  }
}

void finish_heaps(model::Profile& merged) {
  model::HeapTables& heap = merged.heap;
  if (heap.empty()) return;
  std::vector<HeapRows> rows(heap.slices.size());
  for (const model::HeapRow& row : heap.rows) add_row(rows[row.slice.value], row);
  std::vector<Joined> heaps(heap.heaps.size());
  std::vector<model::HeapSlice> slices;
  heap.rows.clear();
  const auto append = [&](const model::HeapSlice& slice, const HeapRows& of_slice) {
    for (const auto& [site, row] : of_slice) {
      heap.rows.push_back(row);
      heap.rows.back().slice = {static_cast<std::uint32_t>(slices.size())};
    }
    slices.push_back(slice);
  };
  for (std::size_t i = 0; i < heap.slices.size(); ++i) {
    model::HeapSlice& slice = heap.slices[i];
    Joined& joined = heaps[slice.heap.value];
    if (slice.peak_ns == kFollows && !joined.becomes_missing_time(slice, rows[i])) continue;
    joined.take(slice, rows[i]);
    append(slice, rows[i]);
  }
  for (std::uint32_t i = 0; i < heap.heaps.size(); ++i) {
    if (heap.heaps[i].peak_ns != kIsGone) continue;
    double bytes = 0;
    const HeapRows freed = heaps[i].end(bytes);
    if (freed.empty()) continue;
    const std::uint64_t end_ns = heaps[i].end_ns();
    append({{i}, end_ns, end_ns, end_ns, bytes, 0, 0}, freed);
    merged.quality.notes.push_back(fmt::format(
        "heap: process {} was traced until {} after the start: the {} that were live then count as freed",
        merged.processes[heap.heaps[i].process.value].pid,
        analysis::seconds(static_cast<double>(end_ns - std::min(end_ns, merged.meta.start_ns)) * 1e-9),
        analysis::bytes(bytes)));
  }
  heap.slices = std::move(slices);
  measure_heaps(heap);
}

}  // namespace fathom::serve
