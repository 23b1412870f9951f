#include "analysis/core/selection.h"

#include <algorithm>
#include <limits>

#include "analysis/core/tracer_frames.h"
#include "analysis/core/uncounted.h"
#include "model/facts.h"

namespace fathom::analysis {
namespace {

// start + offset, or the end of time when that is too far.
std::uint64_t after(std::uint64_t start, std::uint64_t offset) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return offset > most - start ? most : start + offset;
}

}  // namespace

Filter::Filter(const model::Profile& profile, const Selection& selection)
    : metric_(selection.metric), stacks_(selection.stacks) {
  if (selection.from_ns) from_ns_ = after(profile.meta.start_ns, *selection.from_ns);
  if (selection.to_ns) to_ns_ = after(profile.meta.start_ns, *selection.to_ns);
  if (!selection.tracer && (metric_ == model::Metric::kCpu || metric_ == model::Metric::kWall))
    tracers_ = stacks_of_tracer(profile);
  threads_.reserve(profile.threads.size());
  for (const model::Thread& thread : profile.threads) {
    bool taken = true;
    if (selection.thread) {
      taken = profile.strings[thread.name] == *selection.thread ||
              std::to_string(thread.tid) == *selection.thread;
    }
    if (selection.pid) taken = taken && profile.processes[thread.process.value].pid == *selection.pid;
    threads_.push_back(taken ? 1 : 0);
  }
}

std::vector<model::Metric> metrics_in(const model::Profile& profile) {
  std::vector<model::Metric> metrics;
  for (const model::Sample& sample : profile.all_samples()) {
    // Nearly always the one found last; a set would cost more than the whole scan.
    if (!metrics.empty() && metrics.back() == sample.metric) continue;
    const auto known = std::find(metrics.begin(), metrics.end(), sample.metric);
    if (known == metrics.end()) {
      metrics.push_back(sample.metric);
    } else {
      std::iter_swap(known, metrics.end() - 1);
    }
  }
  if (!profile.all_waits().empty())
    metrics.insert(metrics.end(), {model::Metric::kOffCpu, model::Metric::kWall});
  if (!profile.heap.empty())
    for (auto i = static_cast<int>(model::Metric::kHeapAllocated); i <= static_cast<int>(model::kLastMetric);
         ++i)
      if (!uncounted(profile, static_cast<model::Metric>(i)))
        metrics.push_back(static_cast<model::Metric>(i));
  std::sort(metrics.begin(), metrics.end());
  metrics.erase(std::unique(metrics.begin(), metrics.end()), metrics.end());
  return metrics;
}

double sample_period_ns(const model::Profile& profile) {
  const std::string unit = unit_of(profile, model::Metric::kCpu);
  if (unit == "ns") return 1;
  return unit != "samples" || profile.meta.frequency_hz == 0 ? 0 : 1e9 / profile.meta.frequency_hz;
}

std::string unit_of(const model::Profile& profile, model::Metric metric) {
  if (metric == model::Metric::kCpu)
    if (std::string unit = model::facts_of<model::ImportFacts>(profile.meta).unit; !unit.empty()) return unit;
  return std::string(model::unit_of(metric));
}

std::string unit_of(const model::Profile& profile, const Selection& selection) {
  if (!model::is_heap(selection.metric) || selection.heap_unit == HeapUnit::kOfMetric)
    return unit_of(profile, selection.metric);
  if (selection.metric == model::Metric::kHeapAllocated ||
      selection.metric == model::Metric::kHeapAllocations)
    return unit_of(profile, selection.metric);  // the names say it
  return selection.heap_unit == HeapUnit::kBytes ? "bytes" : "blocks";
}

}  // namespace fathom::analysis
