#include "analysis/diff/normalization.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/core/words.h"
#include "analysis/diff/load_evenness.h"
#include "analysis/diff/run_spread.h"

namespace fathom::analysis {
namespace {

using model::Metric;

constexpr std::array<std::pair<Normalization, std::string_view>, 5> kNormalizations = {
    {{Normalization::kPerSecond, "per-second"},
     {Normalization::kAbsolute, "absolute"},
     {Normalization::kShare, "share"},
     {Normalization::kCpuSecond, "cpu-second"},
     {Normalization::kWork, "work"}}};

double busyness_of(const DiffRun& run, Metric metric) {
  return metric == Metric::kCpu ? cpu_wait_share(*run.profile) : 0;
}

}  // namespace

std::string_view to_string(Normalization normalization) {
  for (const auto& [value, name] : kNormalizations) {
    if (value == normalization) return name;
  }
  return "";
}

std::optional<Normalization> normalization_from(std::string_view name) {
  for (const auto& [value, known] : kNormalizations) {
    if (known == name) return value;
  }
  return std::nullopt;
}

bool spread_is_assumed(std::size_t base_runs, std::size_t runs) {
  const std::size_t fresh_runs = runs - base_runs;
  return (base_runs == 1 && fresh_runs < kRunsThatTell) || (fresh_runs == 1 && base_runs < kRunsThatTell);
}

double base_unit(const model::Profile& profile, Metric metric) {
  return metric == Metric::kCpu ? sample_period_ns(profile) : 1;
}

bool is_left_over(const std::vector<const DiffRun*>& runs, std::size_t base_runs,
                  const DiffOptions& options) {
  // For two time ranges of one recording it is unknown when threads waited.
  return spread_is_assumed(base_runs, runs.size()) && runs.front()->profile != runs.back()->profile &&
         std::any_of(runs.begin(), runs.end(),
                     [&](const DiffRun* run) { return busyness_of(*run, options.metric) > kBusyMachine; });
}

std::string counted_by(const DiffRun& run, Metric metric) {
  if (metric != Metric::kCpu) return std::string(model::to_string(metric));
  const std::string unit = unit_of(*run.profile, metric);
  if (unit != "samples" && unit != "ns") return printable(unit);
  return run.profile->meta.event.empty() ? unit : printable(run.profile->meta.event);
}

bool count_the_same(const std::vector<const DiffRun*>& runs, Metric metric) {
  if (metric != Metric::kCpu) return true;
  return std::all_of(runs.begin(), runs.end(), [&](const DiffRun* run) {
    const model::Profile &one = *run->profile, &first = *runs.front()->profile;
    // A file that does not name its event is assumed to have the other side's.
    const bool events =
        one.meta.event.empty() || first.meta.event.empty() || one.meta.event == first.meta.event;
    const auto is_time = [&](const model::Profile& profile) { return base_unit(profile, metric) > 0; };
    return events && (unit_of(one, metric) == unit_of(first, metric) || (is_time(one) && is_time(first)));
  });
}

bool any_difference(const std::vector<const DiffRun*>& runs, Metric metric) {
  return metric == Metric::kCpu && std::any_of(runs.begin(), runs.end(), [](const DiffRun* run) {
           for (const model::Sample& sample : run->profile->all_samples())
             if (sample.metric == Metric::kCpu && sample.value < 0) return true;
           return false;
         });
}

Normalization choose_normalization(const std::vector<const DiffRun*>& runs, std::size_t base_runs,
                                   const DiffOptions& options) {
  if (options.normalization) return *options.normalization;
  const auto all = [&](const auto& holds) {
    return std::all_of(runs.begin(), runs.end(), [&](const DiffRun* run) { return holds(*run); });
  };
  if (!count_the_same(runs, options.metric)) return Normalization::kShare;
  if (all([](const DiffRun& run) { return run.work > 0; })) return Normalization::kWork;
  if (any_difference(runs, options.metric)) return Normalization::kAbsolute;
  // Values that grow with the recorded time; live memory at one moment does not.
  const bool flows = options.metric != Metric::kHeapLive && options.metric != Metric::kHeapPeak &&
                     options.metric != Metric::kHeapLeaked;
  // The use of a whole run belongs to the program, no matter how long other programs delayed it.
  if (!flows || all(is_whole_run)) return Normalization::kAbsolute;
  if (!options.whole_matters && is_left_over(runs, base_runs, options)) return Normalization::kShare;
  const bool timed = all([&](const DiffRun& run) {
    return window_of(run).seconds() > 0 && base_unit(*run.profile, options.metric) > 0;
  });
  return timed ? Normalization::kPerSecond : Normalization::kShare;
}

}  // namespace fathom::analysis
