#include "analysis/spans/latency.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/core/selection.h"

namespace fathom::analysis {
namespace {

constexpr double kMostUnwalked = 0.05;

// Threads that ran, from a moment on.
struct RunningFrom {
  std::uint64_t time_ns = 0;
  std::int64_t threads = 0;
};

bool knows_every_wait(const model::Profile& profile) {
  double unwalked = 0, waited = 0;
  for (const model::Thread& thread : profile.threads) {
    unwalked += static_cast<double>(thread.unwalked_ns);
    waited += static_cast<double>(thread.waited_ns) + static_cast<double>(thread.queued_ns);
  }
  return !profile.all_waits().empty() && unwalked <= kMostUnwalked * waited;
}

// From the waits: a thread runs from its first moment in the recording to its last, but for its waits.
std::vector<RunningFrom> running_by_waits(const model::Profile& profile) {
  std::vector<RunningFrom> steps;
  std::vector<char> is_recorded(profile.threads.size());
  for (const model::Sample& sample : profile.all_samples()) is_recorded[sample.thread.value] = 1;
  for (const model::Wait& wait : profile.all_waits()) is_recorded[wait.thread.value] = 1;
  for (std::size_t i = 0; i < profile.threads.size(); ++i) {
    if (is_recorded[i] == 0) continue;
    const model::Thread& thread = profile.threads[i];
    steps.push_back({std::max(thread.start_ns, profile.meta.start_ns), 1});
    if (thread.end_ns != 0) steps.push_back({thread.end_ns, -1});
  }
  for (const model::Wait& wait : profile.all_waits()) {
    const std::uint64_t end = wait.start_ns + wait.waited_ns + wait.queued_ns;
    steps.push_back({wait.start_ns, -1});
    steps.push_back({end, 1});
  }
  std::ranges::stable_sort(steps, {}, &RunningFrom::time_ns);
  std::int64_t running = 0;
  for (RunningFrom& step : steps) step.threads = running += step.threads;
  return steps;
}

double parallelism_at(const std::vector<RunningFrom>& steps, std::uint64_t time_ns) {
  const auto after = std::ranges::upper_bound(steps, time_ns, {}, &RunningFrom::time_ns);
  return after == steps.begin() ? 1
                                : static_cast<double>(std::max<std::int64_t>(1, std::prev(after)->threads));
}

// From the samples: threads that were seen within half a period.
std::vector<double> parallelism_by_samples(const std::vector<model::Sample>& samples, double period_ns) {
  std::vector<std::size_t> order(samples.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return samples[i].time_ns; });
  const auto half = static_cast<std::uint64_t>(period_ns / 2);
  std::vector<double> found(samples.size(), 1);
  std::vector<std::size_t> counts;  // by thread: samples inside
  std::size_t first = 0, end = 0, threads = 0;
  const auto count = [&](std::uint32_t thread) -> std::size_t& {
    if (thread >= counts.size()) counts.resize(thread + 1);
    return counts[thread];
  };
  for (const std::size_t at : order) {
    const std::uint64_t time = samples[at].time_ns;
    for (; end < order.size() && samples[order[end]].time_ns <= time + std::min(half, UINT64_MAX - time);
         ++end)
      if (count(samples[order[end]].thread.value)++ == 0) ++threads;
    for (; time - samples[order[first]].time_ns > half; ++first)
      if (--count(samples[order[first]].thread.value) == 0) --threads;
    found[at] = static_cast<double>(std::max<std::size_t>(1, threads));
  }
  return found;
}

}  // namespace

bool weigh_by_parallelism(model::Profile& profile) {
  const double period_ns = sample_period_ns(profile);
  if (!(period_ns > 0)) return false;
  std::vector<model::Sample> samples;
  for (const model::Sample& sample : profile.all_samples()) samples.push_back(sample);
  const auto is_cpu = [](const model::Sample& sample) { return sample.metric == model::Metric::kCpu; };
  if (std::ranges::none_of(samples, is_cpu)) return false;
  std::vector<double> parallelism;
  if (knows_every_wait(profile)) {
    const std::vector<RunningFrom> steps = running_by_waits(profile);
    for (const model::Sample& sample : samples) parallelism.push_back(parallelism_at(steps, sample.time_ns));
  } else {
    parallelism = parallelism_by_samples(samples, period_ns);
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!is_cpu(samples[i])) continue;
    const double ns = static_cast<double>(samples[i].value) * period_ns / parallelism[i];
    samples[i].value = static_cast<std::int64_t>(std::llround(std::clamp(ns, -9e18, 9e18)));
  }
  profile.packed_samples = {};
  profile.samples = std::move(samples);
  profile.meta.facts["unit"] = "ns";
  return true;
}

}  // namespace fathom::analysis
