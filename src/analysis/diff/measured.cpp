#include "analysis/diff/measured.h"

#include <algorithm>
#include <cmath>

#include "analysis/diff/doubts.h"
#include "analysis/diff/run_spread.h"
#include "model/facts.h"

namespace fathom::analysis {
namespace {

bool is_all_of_its_time(const Selection& selection) {
  return !selection.from_ns && !selection.to_ns;
}

double sampled_ns(const DiffRun& run) {
  Selection selection = run.selection;
  selection.metric = model::Metric::kCpu;
  const Filter filter(*run.profile, selection);
  double values = 0;
  for (const model::Sample& sample : run.profile->all_samples())
    if (filter.takes_all(sample)) values += static_cast<double>(sample.value);
  return values * sample_period_ns(*run.profile);
}

}  // namespace

std::optional<Measured> clock_cpu_ns(const DiffRun& run) {
  const model::Profile& profile = *run.profile;
  const double period = sample_period_ns(profile);
  if (!is_all_of_its_time(run.selection) || run.selection.stacks || profile.meta.engine == "import" ||
      !(period > 0))
    return std::nullopt;
  const auto facts = model::facts_of<model::SamplingFacts>(profile.meta);
  Selection selection = run.selection;
  selection.metric = model::Metric::kCpu;
  const Filter filter(profile, selection);
  double exact = 0;
  for (std::uint32_t i = 0; i < profile.threads.size(); ++i) {
    const model::Thread& thread = profile.threads[i];
    if (!filter.takes_thread({i}) || thread.cpu_ns == 0) continue;
    // The last reading before a thread ended may be missing from one of both.
    exact += static_cast<double>(std::max(thread.cpu_ns, thread.ran_ns));
  }
  if (!(exact > 0)) return std::nullopt;
  // When a thread ends, the kernel has not accounted for its time since the last tick.
  constexpr double kTick_ns = 4e6;
  const double unbooked =
      kTick_ns / std::sqrt(12.0) * std::sqrt(static_cast<double>(facts.ended_threads.value_or(0)));
  const double sampled = sampled_ns(run);
  const double by_chance = 3 * std::sqrt(sampled * period);
  constexpr double kMuchMore = 1.25;
  if (sampled > kMuchMore * exact + by_chance) return std::nullopt;  // processes that live for a millisecond
  const double missing = std::max(sampled - exact - by_chance, 0.0);
  return Measured{exact, std::hypot(unbooked, missing) / exact};
}

std::optional<Measured> measured_cpu_ns(const DiffRun& run) {
  if (!model::facts_of<model::SamplingFacts>(run.profile->meta).not_sampled.empty()) return std::nullopt;
  return clock_cpu_ns(run);
}

std::optional<Measured> measured_wall_ns(const DiffRun& run) {
  const double seconds = window_of(run).seconds();
  if (!(seconds > 0)) return std::nullopt;
  return Measured{seconds * 1e9, 0};
}

double starvation_of(const DiffRun& run) {
  return starvation(cpu_wait_share(*run.profile));
}

double delay_of(const DiffRun& run) {
  const model::Profile& profile = *run.profile;
  double queued_s =
      static_cast<double>(model::facts_of<model::SamplingFacts>(profile.meta).cpu_wait_ms.value_or(0)) * 1e-3;
  if (!(queued_s > 0))
    for (const model::Thread& thread : profile.threads)
      queued_s += static_cast<double>(thread.queued_ns) * 1e-9;
  const double wall_s = window_of(run).seconds();
  return std::min(starvation_of(run), starvation(wall_s > 0 ? queued_s / wall_s : 1));
}

}  // namespace fathom::analysis
