#include "analysis/core/heap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "analysis/core/call_tree.h"
#include "analysis/core/container_frames.h"
#include "analysis/core/heap_slices.h"
#include "model/heap_exactness.h"

namespace fathom::analysis {
namespace {

using namespace model;

HeapAmounts amounts(const HeapSum& sum, const HeapVariance& variance) {
  return {{sum.blocks, variance.blocks}, {sum.bytes, variance.bytes}};
}

HeapAmounts difference(const HeapAmounts& more, const HeapAmounts& less) {
  // What was freed was allocated before: its variance is part of the other.
  const auto of = [](const HeapAmount& a, const HeapAmount& b) {
    return HeapAmount{a.value - b.value, std::max(0.0, a.variance - b.variance)};
  };
  return {of(more.blocks, less.blocks), of(more.bytes, less.bytes)};
}

// What rounding leaves of sums that cancel out is nothing, and has no error.
void drop_hair(HeapAmount& left, double came) {
  if (left.value <= 1e-9 * came) left = {};
}

// By site whether its stack, in threads of its name, asked for blocks of these sizes.
std::vector<char> sites_of_sizes(const Profile& profile, const SizeBuckets& sizes) {
  const HeapTables& heap = profile.heap;
  std::vector<char> out(heap.sites.size());
  for (const HeapHistogram& row : heap.histograms)
    if (row.kind == HeapHistogramKind::kSize && row.bucket >= sizes.first && row.bucket < sizes.end &&
        row.sum.blocks > 0)
      out[row.site.value] = 1;
  // Requests of one stack count as one, for all threads of a name and all allocators.
  HeapLeaves leaves(profile, HeapLeaves::Fold::kContainers);
  std::map<std::string, std::uint32_t> names;
  std::vector<std::uint32_t> name_of(profile.threads.size());
  for (std::uint32_t i = 0; i < name_of.size(); ++i)
    name_of[i] =
        names.try_emplace(thread_name(profile, {i}), static_cast<std::uint32_t>(names.size())).first->second;
  const auto key_of = [&](const HeapSite& site) {
    return std::pair(site.thread == kNoThread ? UINT32_MAX : name_of[site.thread.value],
                     leaves.of(site.stack).stack.value);
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, char> asked;
  for (std::size_t i = 0; i < out.size(); ++i) asked[key_of(heap.sites[i])] |= out[i];
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = asked[key_of(heap.sites[i])];
  return out;
}

}  // namespace

// Wider than that of a normal distribution for few samples, so that at least 93 of 100 hold what is true from five
// samples on (heap_interval_test.cpp).
double HeapAmount::error() const {
  const double known = std::max(0.0, variance), size = std::fabs(value);
  // A few samples underestimate their own variance: four more of the mean weight correct that. A difference
  // of blocks that came and went has no such weight, and is small compared with its error.
  const double weight = size * size >= known && size > 0 ? known / size : 0;
  return 1.959963984540054 * std::sqrt(known + 4 * weight * weight);
}

HeapUnit unit_of_heap(const Selection& selection) {
  switch (selection.metric) {
    case Metric::kHeapAllocated:
      return HeapUnit::kBytes;
    case Metric::kHeapAllocations:
      return HeapUnit::kBlocks;
    case Metric::kHeapTemporary:
    case Metric::kHeapShortLived:
      return selection.heap_unit == HeapUnit::kOfMetric ? HeapUnit::kBlocks : selection.heap_unit;
    default:
      return selection.heap_unit == HeapUnit::kOfMetric ? HeapUnit::kBytes : selection.heap_unit;
  }
}

HeapSums::HeapSums(const Profile& profile, const Selection& selection)
    : profile_(profile), sites_(profile.heap.sites.size()), taken_(profile.heap.sites.size()) {
  const HeapTables& heap = profile.heap;
  const Filter filter(profile, selection);
  std::vector<char> of_sizes;
  if (selection.asked_sizes) of_sizes = sites_of_sizes(profile, *selection.asked_sizes);
  for (std::size_t i = 0; i < heap.sites.size(); ++i) {
    const HeapSite& site = heap.sites[i];
    const Process& process = profile.processes[heap.heaps[site.heap.value].process.value];
    const bool of_process = !selection.pid || process.pid == *selection.pid;
    const bool of_thread =
        !selection.thread || (site.thread != kNoThread && filter.takes_thread(site.thread));
    const bool of_size = of_sizes.empty() || of_sizes[i] != 0;
    taken_[i] = of_process && of_thread && of_size && filter.takes_stack(site.stack) ? 1 : 0;
  }
  std::vector<double> inside_s(heap.heaps.size());
  for (const HeapSlice& slice : heap.slices) {
    const SlicePlace place = place_of(filter, profile, slice);
    slices_.push_back(static_cast<char>(place));
    if (place == SlicePlace::kInside)
      inside_s[slice.heap.value] += static_cast<double>(slice.end_ns - slice.start_ns) * 1e-9;
  }
  for (const double seconds : inside_s) window_s_ = std::max(window_s_, seconds);

  std::vector<double> churn(heap.sites.size());
  std::vector<HeapSum> came(heap.sites.size());  // of all time
  for (const HeapRow& row : heap.all_rows()) {
    const auto place = static_cast<SlicePlace>(slices_[row.slice.value]);
    if (taken_[row.site.value] == 0) continue;
    HeapSiteSums& site = sites_[row.site.value];
    const HeapAmounts allocated = amounts(row.allocated, row.allocated_variance);
    const HeapAmounts freed = amounts(row.freed, row.freed_variance);
    came[row.site.value].blocks += allocated.blocks.value;
    came[row.site.value].bytes += allocated.bytes.value;
    site.leaked.add(allocated);
    site.leaked = difference(site.leaked, freed);
    if (place == SlicePlace::kAfter) continue;
    if (place == SlicePlace::kBefore) {
      site.before.add(allocated);
      site.before = difference(site.before, freed);
      continue;
    }
    site.allocated.add(allocated);
    site.freed.add(freed);
    site.temporary.blocks += row.temporary.blocks;
    site.temporary.bytes += row.temporary.bytes;
    site.short_lived.blocks += row.short_lived.blocks;
    site.short_lived.bytes += row.short_lived.bytes;
    churn[row.site.value] += row.churn_variance;
  }
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    HeapSiteSums& site = sites_[i];
    site.live = site.before;
    site.live.add(site.allocated);
    site.live = difference(site.live, site.freed);
    // Estimates of what is gone may leave a hair of it, on either side of nothing.
    for (HeapAmounts* left : {&site.live, &site.before, &site.leaked}) {
      drop_hair(left->blocks, came[i].blocks);
      drop_hair(left->bytes, came[i].bytes);
    }
    site.growth.blocks.value = site.live.blocks.value - site.before.blocks.value;
    site.growth.bytes.value = site.live.bytes.value - site.before.bytes.value;
    // Two bounds: all that came and went without what did both in one slice; and what is live at either end.
    site.growth.blocks.variance = std::min(site.allocated.blocks.variance + site.freed.blocks.variance,
                                           site.live.blocks.variance + site.before.blocks.variance);
    site.growth.bytes.variance =
        std::min(std::max(0.0, site.allocated.bytes.variance + site.freed.bytes.variance - 2 * churn[i]),
                 site.live.bytes.variance + site.before.bytes.variance);
    total_.allocated.add(site.allocated);
    total_.freed.add(site.freed);
    total_.before.add(site.before);
    total_.live.add(site.live);
    total_.leaked.add(site.leaked);
    total_.growth.add(site.growth);
    total_.temporary.blocks += site.temporary.blocks;
    total_.temporary.bytes += site.temporary.bytes;
    total_.short_lived.blocks += site.short_lived.blocks;
    total_.short_lived.bytes += site.short_lived.bytes;
  }
  find_peak(selection);
}

void HeapSums::find_peak(const Selection& selection) {
  const HeapTables& heap = profile_.heap;
  peak_.sites.resize(heap.sites.size());
  // Of the largest heap what was live at its peak; of the others what was live then, to the end of a slice.
  const auto largest_heap =
      std::max_element(heap.heaps.begin(), heap.heaps.end(),
                       [](const Heap& a, const Heap& b) { return a.peak_bytes < b.peak_bytes; });
  if (!selection.from_ns && !selection.to_ns && !heap.summaries.empty()) {
    peak_.to_slice_end = largest_heap->chosen;
    peak_.time_ns = largest_heap->peak_ns;
    const HeapId largest{static_cast<std::uint32_t>(largest_heap - heap.heaps.begin())};
    for (const HeapSummary& row : heap.summaries)
      if (taken_[row.site.value] != 0 && heap.sites[row.site.value].heap == largest)
        peak_.sites[row.site.value].add(amounts(row.peak, row.peak_variance));
    for (const HeapRow& row : heap.all_rows()) {
      const HeapSlice& slice = heap.slices[row.slice.value];
      if (slice.heap == largest || slice.start_ns > peak_.time_ns || taken_[row.site.value] == 0) continue;
      HeapAmounts& site = peak_.sites[row.site.value];
      site.add(amounts(row.allocated, row.allocated_variance));
      site = difference(site, amounts(row.freed, row.freed_variance));
      peak_.to_slice_end = true;
    }
    peak_.exact = !peak_.to_slice_end && exactness_of(profile_, selection.pid).complete();
  } else {
    peak_.to_slice_end = true;
    // Of each heap the slice inside of the window at whose end most is live; then all that came before it.
    std::vector<const HeapSlice*> fullest(heap.heaps.size());
    for (std::size_t i = 0; i < heap.slices.size(); ++i) {
      const HeapSlice& slice = heap.slices[i];
      const HeapSlice*& best = fullest[slice.heap.value];
      if (static_cast<SlicePlace>(slices_[i]) == SlicePlace::kInside &&
          (best == nullptr || slice.live_bytes > best->live_bytes))
        best = &slice;
    }
    const HeapSlice* largest = nullptr;
    for (const HeapSlice* slice : fullest)
      if (slice != nullptr && (largest == nullptr || slice->live_bytes > largest->live_bytes))
        largest = slice;
    if (largest != nullptr) peak_.time_ns = largest->end_ns;
    for (const HeapRow& row : heap.all_rows()) {
      const HeapSlice& slice = heap.slices[row.slice.value];
      const HeapSlice* last = fullest[slice.heap.value];
      if (last == nullptr || slice.end_ns > last->end_ns || taken_[row.site.value] == 0) continue;
      HeapAmounts& site = peak_.sites[row.site.value];
      site.add(amounts(row.allocated, row.allocated_variance));
      site = difference(site, amounts(row.freed, row.freed_variance));
    }
  }
  for (HeapAmounts& site : peak_.sites)
    for (HeapAmount* amount : {&site.blocks, &site.bytes}) amount->value = std::max(0.0, amount->value);
  for (const HeapAmounts& site : peak_.sites) peak_.total.add(site);
}

HeapAmount HeapSums::value(HeapSiteId id, Metric metric, HeapUnit unit) const {
  const HeapSiteSums& site = sites_[id.value];
  const auto of = [unit](const HeapAmounts& amounts) {
    return unit == HeapUnit::kBlocks ? amounts.blocks : amounts.bytes;
  };
  // Of these the variance is not known; that of all that was allocated is larger.
  const auto part = [&](const HeapSum& sum) {
    return HeapAmount{unit == HeapUnit::kBlocks ? sum.blocks : sum.bytes, of(site.allocated).variance};
  };
  switch (metric) {
    case Metric::kHeapAllocated:
    case Metric::kHeapAllocations:
      return of(site.allocated);
    case Metric::kHeapLive:
      return of(site.live);
    case Metric::kHeapLeaked:
      return of(site.leaked);
    case Metric::kHeapPeak:
      return of(peak_.sites[id.value]);
    case Metric::kHeapGrowth:
      return of(site.growth);
    case Metric::kHeapTemporary:
      return part(profile_.heap.heaps[profile_.heap.sites[id.value].heap.value].mode == HeapMode::kExact
                      ? site.temporary
                      : site.short_lived);
    case Metric::kHeapShortLived:
      return part(site.short_lived);
    default:
      return {};
  }
}

}  // namespace fathom::analysis
