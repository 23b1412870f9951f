#include "report/selection.h"

#include <algorithm>
#include <limits>

namespace fathom::report {
namespace {

// start + offset, or the end of time when that is too far.
std::uint64_t after(std::uint64_t start, std::uint64_t offset) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return offset > most - start ? most : start + offset;
}

}  // namespace

Filter::Filter(const profile::Profile& profile, const Selection& selection) : metric_(selection.metric) {
  if (selection.from_ns) from_ns_ = after(profile.meta.start_ns, *selection.from_ns);
  if (selection.to_ns) to_ns_ = after(profile.meta.start_ns, *selection.to_ns);
  threads_.reserve(profile.threads.size());
  for (const profile::Thread& thread : profile.threads) {
    bool taken = true;
    if (selection.thread) {
      taken = profile.strings[thread.name] == *selection.thread ||
              std::to_string(thread.tid) == *selection.thread;
    }
    if (selection.pid) taken = taken && profile.processes[thread.process.value].pid == *selection.pid;
    threads_.push_back(taken ? 1 : 0);
  }
}

std::vector<profile::Metric> metrics_in(const profile::Profile& profile) {
  std::vector<profile::Metric> metrics;
  for (const profile::Sample& sample : profile.samples) {
    // Nearly always the one found last; a set would cost more than the whole scan.
    if (!metrics.empty() && metrics.back() == sample.metric) continue;
    const auto known = std::find(metrics.begin(), metrics.end(), sample.metric);
    if (known == metrics.end()) {
      metrics.push_back(sample.metric);
    } else {
      std::iter_swap(known, metrics.end() - 1);
    }
  }
  if (!profile.waits.empty())
    metrics.insert(metrics.end(), {profile::Metric::kOffCpu, profile::Metric::kWall});
  if (!profile.heap.empty())
    for (auto i = static_cast<int>(profile::Metric::kHeapAllocated);
         i <= static_cast<int>(profile::kLastMetric); ++i)
      metrics.push_back(static_cast<profile::Metric>(i));
  std::sort(metrics.begin(), metrics.end());
  metrics.erase(std::unique(metrics.begin(), metrics.end()), metrics.end());
  return metrics;
}

double sample_period_ns(const profile::Profile& profile) {
  const std::string unit = unit_of(profile, profile::Metric::kCpu);
  if (unit == "ns") return 1;
  return unit != "samples" || profile.meta.frequency_hz == 0 ? 0 : 1e9 / profile.meta.frequency_hz;
}

std::string unit_of(const profile::Profile& profile, profile::Metric metric) {
  const auto unit = profile.meta.facts.find("unit");
  if (metric == profile::Metric::kCpu && unit != profile.meta.facts.end()) return unit->second;
  return std::string(profile::unit_of(metric));
}

std::string unit_of(const profile::Profile& profile, const Selection& selection) {
  if (!profile::is_heap(selection.metric) || selection.heap_unit == HeapUnit::kOfMetric)
    return unit_of(profile, selection.metric);
  if (selection.metric == profile::Metric::kHeapAllocated ||
      selection.metric == profile::Metric::kHeapAllocations)
    return unit_of(profile, selection.metric);  // the names say it
  return selection.heap_unit == HeapUnit::kBytes ? "bytes" : "blocks";
}

}  // namespace fathom::report
