#include "analysis/diff/block_histogram.h"

#include <algorithm>
#include <cmath>

#include "analysis/core/heap.h"

namespace fathom::analysis {
namespace {

constexpr double kMost = 9e15;  // a broken file may hold any number

// Mean bytes between samples of the heap; of several heaps the largest mean. 0: all were exact.
double mean_bytes_of(const model::Profile& profile) {
  std::uint64_t mean = 0;
  for (const model::Heap& heap : profile.heap.heaps) {
    if (heap.mode == model::HeapMode::kSampled) mean = std::max(mean, heap.mean_bytes);
  }
  return static_cast<double>(mean);
}

// A sample hits a block of `size` bytes with probability 1 - exp(-size / mean) and stands for 1 / probability
// blocks, so a count of n such blocks has the variance n (1 / probability - 1).
double weight_of_size(double size, double mean) {
  return mean > 0 ? 1 / -std::expm1(-std::max(size, 1.0) / mean) - 1 : 0;
}

}  // namespace

std::map<std::uint8_t, BlockClass> histogram_of(const model::Profile& profile, const Selection& selection,
                                                model::HeapHistogramKind kind) {
  const HeapSums sums(profile, selection);
  const double mean = mean_bytes_of(profile);
  std::map<std::uint8_t, HeapAmount> found;
  for (const model::HeapHistogram& row : profile.heap.histograms) {
    if (row.kind != kind || !sums.takes(row.site)) continue;
    // Lifetimes do not record block sizes, so they use the variance of their site. In a size class the
    // smallest blocks vary most.
    const HeapAmount& site = sums.sites()[row.site.value].allocated.blocks;
    const double weight = kind == model::HeapHistogramKind::kSize
                              ? weight_of_size(row.bucket == 0 ? 0 : std::ldexp(1.0, row.bucket - 1), mean)
                          : site.value > 0 ? site.variance / site.value
                                           : 0;
    found[row.bucket].add({row.sum.blocks, row.sum.blocks * weight});
  }
  std::map<std::uint8_t, BlockClass> classes;
  for (const auto& [bucket, amount] : found) {
    BlockClass& row = classes[bucket];
    row.blocks = std::llround(std::clamp(amount.value, 0.0, kMost));
    row.weight =
        amount.value > 0 && amount.variance > 0 ? std::min(amount.variance / amount.value, kMost) : 0;
  }
  return classes;
}

}  // namespace fathom::analysis
