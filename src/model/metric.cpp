#include "model/metric.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace fathom::model {
namespace {

constexpr auto kTime = MetricKind::kTime;
constexpr auto kHeap = MetricKind::kHeap;
constexpr MetricInfo kMetrics[] = {
    {Metric::kCpu, kTime, "cpu", "samples", "CPU", "CPU"},
    {Metric::kOffCpu, kTime, "off-cpu", "ns", "Off-CPU time", "off-CPU"},
    {Metric::kWall, kTime, "wall", "ns", "Wall-clock time", "wall-clock"},
    {Metric::kHeapAllocated, kHeap, "heap-allocated", "bytes", "Allocated bytes", "allocated bytes"},
    {Metric::kHeapAllocations, kHeap, "heap-allocations", "allocations", "Allocations", "allocations"},
    {Metric::kHeapLive, kHeap, "heap-live", "bytes", "Live heap", "live heap bytes"},
    {Metric::kHeapPeak, kHeap, "heap-peak", "bytes", "Heap at its peak", "heap bytes at the peak"},
    {Metric::kHeapLeaked, kHeap, "heap-leaked", "bytes", "Heap never freed", "heap bytes never freed"},
    {Metric::kHeapGrowth, kHeap, "heap-growth", "bytes", "Heap growth", "heap growth"},
    {Metric::kHeapTemporary, kHeap, "heap-temporary", "allocations", "Temporary allocations",
     "temporary allocations"},
    {Metric::kHeapShortLived, kHeap, "heap-short-lived", "allocations", "Short-lived allocations",
     "short-lived allocations"},
};

// A row is found by its place, and the kinds are told apart by one comparison.
constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kMetrics); ++i)
    if (static_cast<std::size_t>(kMetrics[i].metric) != i ||
        is_heap(kMetrics[i].metric) != (kMetrics[i].kind == kHeap))
      return false;
  return std::size(kMetrics) == static_cast<std::size_t>(kLastMetric) + 1;
}
static_assert(in_order());

}  // namespace

const MetricInfo& info_of(Metric metric) {
  return kMetrics[static_cast<std::size_t>(metric)];
}

std::optional<Metric> metric_from(std::string_view name) {
  const auto found = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                  [&](const MetricInfo& info) { return info.name == name; });
  return found == std::end(kMetrics) ? std::nullopt : std::optional(found->metric);
}

}  // namespace fathom::model
