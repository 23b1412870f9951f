#include "analysis/spans/span_totals.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "analysis/diff/measured.h"
#include "analysis/diff/run_spread.h"
#include "analysis/spans/span_report.h"
#include "analysis/spans/span_set.h"

namespace fathom::analysis {
namespace {

constexpr std::size_t kFewestSpans = 20, kMostKinds = 3;
constexpr double kSpanLevel = 0.05;
// For equal runs: cached files or not, timers, peers. As for their duration (totals.cpp).
constexpr double kRunToRunOfSpans = 0.05;

using Lengths = std::map<std::string, std::vector<std::uint64_t>>;

Lengths lengths_of(const DiffRun& run) {
  Lengths lengths;
  for (const SpansOfKind& kind : find_spans(*run.profile, run.selection)) {
    std::vector<std::uint64_t>& all = lengths[kind.name];
    for (const WholeSpan& span : kind.spans) all.push_back(span.length_ns());
    std::ranges::sort(all);
  }
  return lengths;
}

struct QuantileKind {
  TotalKind kind;
  double share;
};
constexpr QuantileKind kQuantiles[] = {{TotalKind::kSpanMedian, 0.5}, {TotalKind::kSpanP95, 0.95}};

}  // namespace

std::vector<Total> span_totals(const std::vector<DiffRun>& base, const std::vector<DiffRun>& fresh) {
  std::vector<const DiffRun*> runs;
  for (const auto* side : {&base, &fresh})
    for (const DiffRun& run : *side) runs.push_back(&run);
  if (base.empty() || fresh.empty()) return {};
  std::vector<Lengths> lengths;
  for (const DiffRun* run : runs) lengths.push_back(lengths_of(*run));
  const bool one_process =
      std::ranges::all_of(runs, [&](const DiffRun* run) { return run->profile == runs.front()->profile; });
  struct Kind {
    std::string name;
    double total_ns = 0;
  };
  std::vector<Kind> kinds;
  for (const auto& first : lengths.front()) {
    Kind kind{first.first, 0};
    const bool everywhere = std::ranges::all_of(lengths, [&](const Lengths& run) {
      const auto found = run.find(kind.name);
      if (found == run.end() || found->second.size() < kFewestSpans) return false;
      for (const std::uint64_t length : found->second) kind.total_ns += static_cast<double>(length);
      return true;
    });
    if (everywhere) kinds.push_back(std::move(kind));
  }
  std::ranges::stable_sort(kinds, [](const Kind& a, const Kind& b) { return a.total_ns > b.total_ns; });
  kinds.resize(std::min(kinds.size(), kMostKinds));
  std::vector<Total> totals;
  for (const Kind& kind : kinds)
    for (const QuantileKind& wanted : kQuantiles) {
      std::vector<std::int64_t> values;
      std::vector<RunScale> scales;
      for (std::size_t run = 0; run < runs.size(); ++run) {
        const SpanQuantile quantile = span_quantile(lengths[run].at(kind.name), wanted.share);
        if (!quantile.high_ns || quantile.ns == 0) break;
        values.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(quantile.ns, INT64_MAX)));
        const double sd = static_cast<double>(*quantile.high_ns - quantile.low_ns) / (2 * 1.959964);
        RunScale scale;
        scale.weight = 0;
        scale.whole_run = true;
        scale.own_spread =
            std::hypot(one_process ? 0 : kRunToRunOfSpans, sd / static_cast<double>(quantile.ns));
        scale.delayed = runs.size() == 2 ? delay_of(*runs[run]) : 0;
        scales.push_back(scale);
      }
      if (values.size() != runs.size()) continue;
      if (scales.size() == 2) share_delays(scales[0], scales[1]);
      Total total;
      total.kind = wanted.kind;
      total.name = kind.name;
      total.change = change_of_runs(values, values, scales, base.size());
      total.change.looked_at = true;
      judge(total.change, kSpanLevel);
      total.ratio = ratio_of(total.change);
      totals.push_back(std::move(total));
    }
  return totals;
}

}  // namespace fathom::analysis
