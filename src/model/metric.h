// What can be measured of a program: one table for what users type, the unit, and the words of titles and sentences.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fathom::model {

enum class Metric : std::uint8_t {
  kCpu,     // value: samples
  kOffCpu,  // value: nanoseconds waited
  kWall,
  kHeapAllocated,    // bytes handed out
  kHeapAllocations,  // how often
  // What follows is derived from the heap tables and is never the metric of a sample.
  kHeapLive,        // bytes at the end of the window
  kHeapPeak,        // bytes when most were live
  kHeapLeaked,      // bytes never freed
  kHeapGrowth,      // bytes live at the end of the window and not at its start, less those that went
  kHeapTemporary,   // blocks freed before their thread allocated again; where sampled: within 1 ms
  kHeapShortLived,  // blocks freed within 1 ms
};
inline constexpr Metric kLastSampleMetric = Metric::kHeapAllocations, kLastMetric = Metric::kHeapShortLived;

enum class MetricKind : std::uint8_t { kTime, kHeap };

struct MetricInfo {
  Metric metric;
  MetricKind kind;
  std::string_view name;      // "off-cpu": what users type, and the key in files
  std::string_view unit;      // "samples", "ns", "bytes", "allocations": of a value
  std::string_view title;     // "Off-CPU time": begins a title
  std::string_view sentence;  // "off-CPU": stands inside of a sentence
};

const MetricInfo& info_of(Metric metric);

constexpr bool is_heap(Metric metric) {
  return metric >= Metric::kHeapAllocated;
}
inline std::string_view to_string(Metric metric) {
  return info_of(metric).name;
}
inline std::string_view unit_of(Metric metric) {
  return info_of(metric).unit;
}
std::optional<Metric> metric_from(std::string_view name);

}  // namespace fathom::model
