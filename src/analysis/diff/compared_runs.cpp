#include "analysis/diff/compared_runs.h"

#include <algorithm>
#include <utility>

#include "analysis/diff/doubts.h"
#include "analysis/diff/normalization.h"
#include "model/wait_sums.h"

namespace fathom::analysis {
namespace {

using model::Metric;

constexpr double kLeastForPieces_s = 2;

// Sums of a server and profiles of other tools have no moments: all of it would be in one piece.
bool has_moments(const model::Profile& profile) {
  const auto has_moment = [&](const model::Sample& sample) {
    return sample.time_ns >= profile.meta.start_ns;
  };
  const bool waits_have = !profile.all_waits().empty() && !profile.meta.facts.contains(model::kWaitSumsFact);
  return waits_have || std::ranges::any_of(profile.all_samples(), has_moment);
}

void cut_into_pieces(ComparedRuns& compared) {
  std::vector<UnionRun> joined;
  for (const DiffRun* run : compared.runs) {
    TreeOptions options;
    options.selection = run->selection;
    options.selection.metric = compared.options.metric;
    options.fold_generics = compared.options.fold_generics;
    options.fold_kernel = true;
    options.drop_idle = options.drop_queue = true;
    UnionRun row{run->profile, std::move(options), {}, run->codes};
    const DiffWindow window = window_of(*run);
    const bool cut = is_time(compared.options.metric) && window.seconds() >= kLeastForPieces_s &&
                     has_moments(*run->profile);
    const std::uint64_t count = cut ? kUsualPieces : 1;
    for (std::uint64_t i = 1; i < count; ++i)
      row.cuts.push_back(window.from + (window.to - window.from) / count * i);
    compared.pieces.push_back(count);
    joined.push_back(std::move(row));
  }
  compared.tree = build_union_tree(joined);
}

}  // namespace

bool is_time(Metric metric) {
  return model::info_of(metric).kind == model::MetricKind::kTime;
}

bool ComparedRuns::all_have_clocks() const {
  return std::all_of(clocks.begin(), clocks.end(),
                     [](const std::optional<Measured>& clock) { return clock.has_value(); });
}

bool ComparedRuns::of_waits() const {
  return options.metric == Metric::kOffCpu || options.metric == Metric::kWall;
}

bool ComparedRuns::of_one_process() const {
  return std::all_of(runs.begin(), runs.end(),
                     [&](const DiffRun* run) { return run->profile == runs.front()->profile; });
}

bool ComparedRuns::is_rate() const {
  return normalization == Normalization::kPerSecond ||
         (normalization == Normalization::kShare && !whole_runs);
}

std::size_t ComparedRuns::first_piece_of(std::size_t run) const {
  std::size_t at = 0;
  for (std::size_t i = 0; i < run; ++i) at += pieces[i];
  return at;
}

double ComparedRuns::whole_of(std::size_t run) const {
  const std::size_t at = first_piece_of(run);
  double whole = 0;
  for (std::size_t i = 0; i < pieces[run]; ++i) whole += static_cast<double>(tree.whole[at + i]);
  return whole;
}

std::vector<double> ComparedRuns::lengths() const {
  std::vector<double> seconds;
  for (const DiffRun* run : runs) seconds.push_back(window_of(*run).seconds());
  return seconds;
}

ComparedRuns join_runs(const std::vector<DiffRun>& base, const std::vector<DiffRun>& fresh,
                       const DiffOptions& options) {
  ComparedRuns compared;
  for (const auto* side : {&base, &fresh})
    for (const DiffRun& run : *side) compared.runs.push_back(&run);
  compared.base_runs = base.size();
  compared.options = options;
  compared.normalization = choose_normalization(compared.runs, compared.base_runs, options);
  compared.whole_runs = std::all_of(compared.runs.begin(), compared.runs.end(),
                                    [](const DiffRun* run) { return is_whole_run(*run); });
  const bool cpu = options.metric == Metric::kCpu;
  for (const DiffRun* run : compared.runs) {
    compared.unsampled = compared.unsampled || (cpu && is_unsampled(*run->profile));
    compared.clocks.push_back(cpu ? clock_cpu_ns(*run) : std::nullopt);
    compared.divisible.push_back(cpu ? measured_cpu_ns(*run) : std::nullopt);
  }
  cut_into_pieces(compared);
  return compared;
}

}  // namespace fathom::analysis
