#include "analysis/diff/run_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/diff/normalization.h"
#include "analysis/diff/run_spread.h"

namespace fathom::analysis {
namespace {

using model::Metric;

constexpr double kLevelOfTotals = 0.05;

double cpu_seconds(const DiffRun& run) {
  if (const auto measured = clock_cpu_ns(run)) return measured->value * 1e-9;
  Selection selection = run.selection;
  selection.metric = Metric::kCpu;
  const Filter filter(*run.profile, selection);
  double values = 0;
  for (const model::Sample& sample : run.profile->all_samples()) {
    if (filter.takes(sample)) values += static_cast<double>(sample.value);
  }
  return values * sample_period_ns(*run.profile) * 1e-9;
}

// A side without samples does not show how it was recorded, so it counts as exact if the other side is: a
// leak that is new in an exact recording.
double effective_of(const UnionTree& tree, std::size_t run) {
  const std::vector<double>& effective = tree.effective;
  if (effective[run] > 0) return effective[run];
  return *std::max_element(effective.begin(), effective.end()) >= kExact ? kExact : 0;
}

class Scaling {
 public:
  explicit Scaling(const ComparedRuns& compared)
      : compared_(compared),
        metric_(compared.options.metric),
        one_process_(compared.of_one_process()),
        single_runs_(spread_is_assumed(compared.base_runs, compared.runs.size())),
        all_divisible_(std::all_of(compared.divisible.begin(), compared.divisible.end(),
                                   [](const std::optional<Measured>& cpu) { return cpu.has_value(); })),
        kernel_part_(metric_ == Metric::kCpu ? kernel_parts(compared.tree).back() : 0) {}

  Result<RunScale> scale_of(std::size_t index) const {
    const double whole = compared_.whole_of(index);
    const double effective = effective_of(compared_.tree, index);
    RunScale scale;
    scale.pieces = compared_.pieces[index];
    scale.weight = effective >= kExact ? 0 : effective > 0 ? whole / effective : 1;
    // Every wait is recorded, so only their spread over time shows how they vary.
    scale.whole_run = compared_.whole_runs && !compared_.of_waits();
    assume_errors(scale, index);
    scale.lost_spread = spread_of_losses(lost_share_of(*compared_.runs[index]->profile, metric_));
    if (Result<> normalized = normalize(scale, index, whole); !normalized)
      return tl::unexpected(normalized.error());
    return scale;
  }

 private:
  void assume_errors(RunScale& scale, std::size_t index) const {
    const DiffRun& run = *compared_.runs[index];
    scale.own_spread = one_process_ ? 0 : kRunToRun;
    if (compared_.of_waits() && !one_process_ && single_runs_) assume_spread_of_waits(scale, *run.profile);
    if (!compared_.is_rate() && !may_have_fixed_time(compared_.lengths())) scale.starved = 0;
    // What a program does per second is what other programs left to it.
    if (!one_process_ && !compared_.of_waits() && compared_.is_rate() && single_runs_)
      scale.starved = starvation_of(run);
    if (one_process_ || metric_ != Metric::kCpu) return;
    const bool phases = is_whole_run(run) && has_phases(compared_.tree, compared_.first_piece_of(index),
                                                        compared_.pieces[index], scale.weight);
    assume_spread(scale, *run.profile, phases);
    if (const std::optional<Measured>& clock = compared_.clocks[index])
      scale.total_spread =
          std::hypot(spread_of_total(*run.profile, phases, kernel_part_, clock->value * 1e-9), clock->spread);
  }

  Result<> normalize(RunScale& scale, std::size_t index, double whole) const {
    const DiffRun& run = *compared_.runs[index];
    const double seconds = window_of(run).seconds();
    const double unit = base_unit(*run.profile, metric_);
    const double base = unit > 0 ? unit : 1;
    // A rate of time is a fraction of a core, or of a thread.
    const double rate = is_time(metric_) && unit > 0 ? base * 1e-9 : base;
    const Measured* cpu = all_divisible_ ? &*compared_.divisible[index] : nullptr;
    const auto needs = [&](std::string what, std::string remedy) {
      return fail(ErrorKind::kUsage, fmt::format("{}: {}", run.label, std::move(what)), std::move(remedy));
    };
    switch (compared_.normalization) {
      case Normalization::kShare:
        scale.of_whole = true;
        break;
      case Normalization::kAbsolute:
        scale.factor = base;
        if (cpu != nullptr) scale.known_total = cpu->value;
        break;
      case Normalization::kPerSecond:
        if (!(seconds > 0)) return needs("its times are not known", "--normalize share");
        scale.factor = rate / seconds;
        if (cpu != nullptr) scale.known_total = cpu->value * 1e-9 / seconds;
        if (metric_ == Metric::kCpu && unit > 0 && scale.weight > 0) {
          const double ticks = seconds * 1e9 / unit;
          scale.most = ticks * std::max(1.0, std::ceil(whole / ticks));
        }
        break;
      case Normalization::kCpuSecond: {
        const double used_s = cpu_seconds(run);
        if (!(used_s > 0)) return needs("it has no CPU time", "--normalize per-second");
        scale.factor = rate / used_s;
        break;
      }
      case Normalization::kWork:
        if (!(run.work > 0))
          return needs("how much work was done is not known", "--work-base N --work-new M");
        scale.factor = base / run.work;
        scale.of_work = true;
        if (cpu != nullptr) scale.known_total = cpu->value / run.work;
        break;
    }
    return {};
  }

  const ComparedRuns& compared_;
  Metric metric_;
  bool one_process_, single_runs_, all_divisible_;
  double kernel_part_;
};

}  // namespace

Result<std::vector<RunScale>> scales_of(const ComparedRuns& compared) {
  const Scaling scaling(compared);
  std::vector<RunScale> scales;
  for (std::size_t run = 0; run < compared.runs.size(); ++run) {
    const Result<RunScale> scale = scaling.scale_of(run);
    if (!scale) return tl::unexpected(scale.error());
    scales.push_back(*scale);
  }
  if (compared.of_waits() && scales.size() == 2) share_delays(scales[0], scales[1]);
  return scales;
}

std::optional<MeasuredTotal> measured_total(const ComparedRuns& compared,
                                            const std::vector<RunScale>& of_samples) {
  if (!compared.all_have_clocks()) return std::nullopt;
  MeasuredTotal total;
  total.per = compared.normalization != Normalization::kShare ? compared.normalization
              : compared.whole_runs                           ? Normalization::kAbsolute
                                                              : Normalization::kPerSecond;
  total.unit = total.per == Normalization::kPerSecond ? DiffUnit::kOfCore : DiffUnit::kNs;
  std::vector<RunScale> scales = of_samples;
  std::vector<std::int64_t> wholes = compared.tree.whole;
  for (std::size_t run = 0; run < compared.runs.size(); ++run) {
    RunScale& scale = scales[run];
    // These apply to shares.
    scale.own_spread = scale.kernel_spread = scale.least_spread = scale.lost_spread = 0;
    scale.of_whole = false;
    scale.known_total = compared.clocks[run]->value;
    if (total.per == Normalization::kPerSecond) {
      const double seconds = window_of(*compared.runs[run]).seconds();
      if (!(seconds > 0)) return std::nullopt;
      scale.known_total *= 1e-9 / seconds;
    } else if (total.per == Normalization::kWork) {
      scale.known_total /= compared.runs[run]->work;
    } else if (total.per != Normalization::kAbsolute) {
      return std::nullopt;  // a second always contains CPU time
    }
    if (compared.whole_of(run) > 0) continue;
    // Its clock has a total, but there is no sample to divide it.
    scale.weight = 0;
    std::fill_n(wholes.begin() + static_cast<std::ptrdiff_t>(compared.first_piece_of(run)),
                compared.pieces[run], 1);
  }
  total.change = change_of_runs(wholes, wholes, scales, compared.base_runs);
  total.change.looked_at = true;
  judge(total.change, kLevelOfTotals);
  return total;
}

}  // namespace fathom::analysis
