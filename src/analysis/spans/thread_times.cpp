#include "analysis/spans/thread_times.h"

namespace fathom::analysis {

ThreadTimes::ThreadTimes(const model::Profile& profile)
    : waits_(profile.threads.size()), samples_(profile.threads.size()), is_recorded_(profile.threads.size()) {
  for (const model::Wait& wait : profile.all_waits()) waits_[wait.thread.value].push_back(wait);
  for (const model::Sample& sample : profile.all_samples())
    if (sample.metric == model::Metric::kCpu && sample.value > 0)
      samples_[sample.thread.value].push_back({sample.time_ns, sample.stack, sample.value});
  for (std::size_t i = 0; i < is_recorded_.size(); ++i) {
    const model::Thread& thread = profile.threads[i];
    is_recorded_[i] = !waits_[i].empty() || !samples_[i].empty() || thread.ran_ns != 0 || thread.cpu_ns != 0;
  }
  for (auto& waits : waits_) std::ranges::stable_sort(waits, {}, &model::Wait::start_ns);
  for (auto& samples : samples_) std::ranges::stable_sort(samples, {}, &Tick::time_ns);
}

std::span<const ThreadTimes::Tick> ThreadTimes::samples(model::ThreadId thread, std::uint64_t from_ns,
                                                        std::uint64_t to_ns) const {
  const std::vector<Tick>& all = samples_[thread.value];
  const auto first = std::ranges::lower_bound(all, from_ns, {}, &Tick::time_ns);
  const auto end = std::lower_bound(first, all.end(), to_ns,
                                    [](const Tick& tick, std::uint64_t time) { return tick.time_ns < time; });
  return {first, end};
}

}  // namespace fathom::analysis
