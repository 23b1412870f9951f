#include "analysis/diff/side_facts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "analysis/diff/load_evenness.h"
#include "analysis/diff/normalization.h"
#include "analysis/diff/side_samples.h"

namespace fathom::analysis {
namespace {

using model::Metric;

void describe_load(const ComparedRuns& compared, std::size_t run, double weight, DiffSide& side) {
  if (compared.options.metric != Metric::kCpu) return;
  const std::span<const std::int64_t> wholes = compared.tree.whole;
  const auto uneven =
      unevenness_of(wholes.subspan(compared.first_piece_of(run), compared.pieces[run]), weight);
  if (uneven) side.unevenness = std::max(side.unevenness.value_or(0), *uneven);
}

// Of the whole; none if the whole is the same by definition.
std::optional<double> spread_of_side(const ComparedRuns& compared, const std::vector<RunScale>& all,
                                     bool base) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(compared.base_runs);
  const std::vector<RunScale> scales(base ? all.begin() : middle, base ? middle : all.end());
  if (scales.size() < 2 || compared.normalization == Normalization::kShare) return std::nullopt;
  std::size_t count = 0;
  for (const RunScale& scale : scales) count += scale.pieces;
  const std::size_t from = compared.first_piece_of(base ? 0 : compared.base_runs);
  const auto wholes = std::span<const std::int64_t>(compared.tree.whole).subspan(from, count);
  return figure_of(wholes, wholes, scales).spread;
}

}  // namespace

void describe_sides(const ComparedRuns& compared, const std::vector<RunScale>& scales, DiffReport& report) {
  const std::size_t runs = compared.runs.size();
  const UnionTree& tree = compared.tree;
  if (spread_is_assumed(compared.base_runs, runs))
    for (const RunScale& scale : scales) {
      report.own_spread = std::max(report.own_spread, scale.own_spread);
      report.kernel_spread = std::max(report.kernel_spread, scale.kernel_spread);
    }
  report.exact = std::all_of(scales.begin(), scales.end(), [](const RunScale& scale) {
    return scale.weight <= 0 && scale.lost_spread <= 0;
  });
  std::size_t piece = 0;
  std::array<double, 2> all{}, unmatched{}, by_code{};
  for (std::size_t run = 0; run < runs; ++run) {
    DiffSide& side = compared.is_base(run) ? report.base : report.fresh;
    const auto count =
        static_cast<double>(compared.is_base(run) ? compared.base_runs : runs - compared.base_runs);
    side.labels.push_back(compared.runs[run]->label);
    side.seconds += window_of(*compared.runs[run]).seconds() / count;
    side.samples += samples_of(*compared.runs[run], compared.options.metric, tree.samples[run]);
    const double whole = compared.whole_of(run);
    const RunScale& scale = scales[run];
    describe_load(compared, run, scale.weight, side);
    const double total = scale.of_whole ? 1 : scale.known_total;
    report.run_factors.push_back((total > 0 ? (whole > 0 ? total / whole : 0) : scale.factor) / count);
    const std::size_t which = compared.is_base(run) ? 0 : 1;
    all[which] += whole;
    for (std::size_t place = 0; place < tree.places.size(); ++place) {
      const UnionPlace& row = tree.places[place];
      if (!row.unmatched && !row.by_code) continue;
      for (std::size_t i = 0; i < compared.pieces[run]; ++i)
        (row.unmatched ? unmatched : by_code)[which] +=
            static_cast<double>(tree.place_self[place * tree.pieces + piece + i]);
    }
    piece += compared.pieces[run];
  }
  for (const std::size_t which : {0u, 1u}) {
    DiffSide& side = which == 0 ? report.base : report.fresh;
    side.unmatched = all[which] > 0 ? unmatched[which] / all[which] : 0;
    side.by_code = all[which] > 0 ? by_code[which] / all[which] : 0;
    side.spread = spread_of_side(compared, scales, which == 0);
  }
}

DiffUnit unit_of_figures(const ComparedRuns& compared, std::string& count_unit) {
  if (compared.normalization == Normalization::kShare) return DiffUnit::kShare;
  const Metric metric = compared.options.metric;
  const bool timed = std::all_of(compared.runs.begin(), compared.runs.end(),
                                 [&](const DiffRun* run) { return base_unit(*run->profile, metric) > 0; });
  if (is_time(metric) && timed) {
    const bool rate = compared.normalization == Normalization::kPerSecond ||
                      compared.normalization == Normalization::kCpuSecond;
    return rate ? DiffUnit::kOfCore : DiffUnit::kNs;
  }
  Selection selection = compared.runs.front()->selection;
  selection.metric = metric;
  count_unit = unit_of(*compared.runs.front()->profile, selection);
  return count_unit == "bytes" ? DiffUnit::kBytes : DiffUnit::kCount;
}

}  // namespace fathom::analysis
