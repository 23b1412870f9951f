#include "analysis/diff/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analysis/core/code_name.h"
#include "analysis/core/heap.h"
#include "analysis/core/waits.h"
#include "analysis/core/words.h"
#include "analysis/diff/block_histogram.h"
#include "analysis/diff/compared_runs.h"
#include "analysis/diff/measured_metric.h"
#include "analysis/diff/normalization.h"
#include "analysis/diff/row_order.h"
#include "analysis/diff/run_scales.h"
#include "analysis/diff/run_spread.h"
#include "analysis/diff/side_facts.h"
#include "model/facts.h"

namespace fathom::analysis {
namespace {

using model::Metric;

constexpr double kLeastSamples = 10;   // of both sides, to be judged
constexpr double kLeastShare = 0.001;  // of both sides' totals

// Amounts of two different events have no quotient, and a total with negative parts has no shares.
Result<> check_division(const ComparedRuns& compared) {
  const DiffOptions& options = compared.options;
  if (!options.normalization) return {};
  const bool share = *options.normalization == Normalization::kShare;
  if (!share && !count_the_same(compared.runs, options.metric))
    return fail(ErrorKind::kUsage,
                fmt::format("base counts {} and new counts {}: their amounts cannot be compared",
                            counted_by(*compared.runs.front(), options.metric),
                            counted_by(*compared.runs.back(), options.metric)),
                "--normalize share, or two recordings of one event");
  if (share && any_difference(compared.runs, options.metric))
    return fail(ErrorKind::kUsage, "values below 0 are differences, which have no shares",
                "--normalize absolute");
  return {};
}

// A metric that a run did not measure is unknown there. CPU time that could not be sampled has a total if clocks know it, and
// then they must know it for all runs.
Result<> check_measured(const ComparedRuns& compared) {
  const Metric metric = compared.options.metric;
  const auto refuse = [&](const DiffRun& run, Metric missing, std::string remedy) {
    return fail(
        ErrorKind::kNotFound,
        fmt::format("{}: metric {} was not measured", printable(run.label), model::to_string(missing)),
        std::move(remedy));
  };
  for (const DiffRun* run : compared.runs)
    if (!is_measured(*run->profile, metric))
      return refuse(*run, metric, "two recordings that have it; fathom report FILE shows what a file holds");
  const auto has_cpu = [](const DiffRun* run) { return is_measured(*run->profile, Metric::kCpu); };
  if (metric == Metric::kWall && std::any_of(compared.runs.begin(), compared.runs.end(), has_cpu)) {
    const auto missing = std::find_if_not(compared.runs.begin(), compared.runs.end(), has_cpu);
    if (missing != compared.runs.end()) return refuse(**missing, Metric::kCpu, "--metric off-cpu");
  }
  if (!compared.unsampled || compared.all_have_clocks()) return {};
  const DiffRun& run = **std::find_if(compared.runs.begin(), compared.runs.end(),
                                      [](const DiffRun* one) { return is_unsampled(*one->profile); });
  const auto facts = model::facts_of<model::SamplingFacts>(run.profile->meta);
  return fail(
      ErrorKind::kNotFound,
      fmt::format("{}: its CPU time could not be sampled{}{}, and no clock knows the CPU time of all runs",
                  printable(run.label), facts.not_sampled.empty() ? "" : ": ", printable(facts.not_sampled)),
      facts.not_sampled_try.empty() ? "whole recordings, without a range of time or a filter of stacks"
                                    : facts.not_sampled_try);
}

class Comparison {
 public:
  explicit Comparison(const ComparedRuns& compared)
      : options_(compared.options),
        runs_(compared.runs),
        pieces_(compared.pieces),
        compared_(compared),
        waits_(compared.of_waits()) {
    report_.base_runs = compared.base_runs;
    report_.metric = options_.metric;
    report_.normalization = compared.normalization;
    report_.busy_machine = !options_.normalization && report_.normalization == Normalization::kShare &&
                           is_left_over(runs_, report_.base_runs, options_);
    report_.whole_runs = compared.whole_runs;
  }

  Result<DiffReport> make() {
    const std::vector<std::int64_t>& wholes = compared_.tree.whole;
    const bool nothing =
        std::all_of(wholes.begin(), wholes.end(), [](std::int64_t value) { return value == 0; });
    if (nothing && !compared_.unsampled)
      return fail(ErrorKind::kNotFound,
                  fmt::format("neither side has anything of metric {} in this selection",
                              model::to_string(options_.metric)),
                  "fathom report FILE shows what a file holds");
    kernel_parts_ = waits_ ? device_parts(compared_.tree) : kernel_parts(compared_.tree);
    timer_parts_ = waits_ ? timer_parts(compared_.tree) : std::vector<double>(kernel_parts_.size());
    Result<std::vector<RunScale>> scales = scales_of(compared_);
    if (!scales) return tl::unexpected(scales.error());
    scales_ = std::move(*scales);
    report_.measured = measured_total(compared_, scales_);
    if (compared_.unsampled && !report_.measured)
      return fail(ErrorKind::kUsage, "CPU time could not be sampled, so only its total can be compared",
                  "--normalize absolute, or per-second");
    report_.unit = unit_of_figures(compared_, report_.count_unit);
    if (options_.metric == Metric::kCpu) {
      const std::string counted = unit_of(*runs_.front()->profile, Metric::kCpu);
      if (counted != "samples" && counted != "ns") report_.counted = counted;
    }
    describe_sides(compared_, scales_, report_);
    compare_all();
    doubt();
    sort_rows(report_);
    find_places(compared_, report_);
    return std::move(report_);
  }

 private:
  // The kernel's part of a figure varies between runs as much as the kernel's work does; of waits, that for
  // devices and that for points in time.
  std::vector<RunScale> with_parts(double part, double timer_part) const {
    std::vector<RunScale> scales = scales_;
    for (RunScale& scale : scales) {
      if (spread_is_assumed(report_.base_runs, runs_.size())) exempt_timers(scale, timer_part);
      if (scale.kernel_spread > 0)
        scale.own_spread = std::hypot((1 - part) * scale.own_spread, part * scale.kernel_spread);
    }
    return scales;
  }

  Change change_of(std::span<const std::int64_t> values, const std::vector<RunScale>& scales) const {
    return change_of_runs(values, compared_.tree.whole, scales, report_.base_runs);
  }

  bool is_looked_at(std::span<const std::int64_t> values, const Change& change,
                    const std::vector<RunScale>& scales) const {
    double samples = 0;
    std::size_t at = 0;
    bool sampled = false;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      for (std::size_t i = 0; i < pieces_[run]; ++i, ++at) {
        if (scales[run].weight <= 0) continue;
        sampled = true;
        samples += static_cast<double>(values[at]) / scales[run].weight;
      }
    }
    return (!sampled || samples >= kLeastSamples) &&
           change.base + change.fresh >= kLeastShare * (report_.whole.base + report_.whole.fresh);
  }

  // Figures with the same values everywhere count as one test.
  void test(std::span<const std::int64_t> values, Change& change) { test(values, change, scales_); }
  void test(std::span<const std::int64_t> values, Change& change, const std::vector<RunScale>& scales) {
    change = change_of(values, scales);
    change.looked_at = !compared_.unsampled && is_looked_at(values, change, scales);
    if (change.looked_at && tested_.emplace(values.begin(), values.end()).second)
      chances_.push_back(change.p);
  }

  void compare_all() {
    const UnionTree& tree = compared_.tree;
    const std::vector<double>& kernel = kernel_parts_;
    const auto judged = [&](std::span<const std::int64_t> values, Change& change, double part,
                            double timer_part) {
      part > 0 || timer_part > 0 ? test(values, change, with_parts(part, timer_part)) : test(values, change);
    };
    const std::vector<double>& timer = timer_parts_;
    if (kernel.back() <= 0) report_.kernel_spread = 0;
    report_.whole = change_of(tree.whole, scales_);
    report_.whole_is_judged = report_.normalization != Normalization::kShare;
    if (report_.measured && report_.whole_is_judged)
      report_.whole = report_.measured->change;
    else if (report_.whole_is_judged)
      judged(tree.whole, report_.whole, kernel.back(), timer.back());
    const auto row = [&](const std::vector<std::int64_t>& values, std::size_t at) {
      return std::span<const std::int64_t>(values).subspan(at * tree.pieces, tree.pieces);
    };
    std::set<std::uint32_t> kernel_modules;
    for (std::size_t at = 0; at < tree.places.size(); ++at) {
      const UnionPlace& place = tree.places[at];
      if (place.kind == NodeKind::kThread || place.kind == NodeKind::kCause) {
        DiffGroup group{tree.names[place.name], {}};
        judged(place.kind == NodeKind::kThread ? row(tree.place_total, at) : row(tree.place_self, at),
               group.self, kernel[at], timer[at]);
        (place.kind == NodeKind::kThread ? report_.threads : report_.causes).push_back(std::move(group));
        continue;
      }
      DiffRow function;
      function.name = tree.names[place.name];
      function.module = tree.modules[place.module];
      function.kind = place.kind;
      const bool in_kernel = place.kind == NodeKind::kKernel;
      if (in_kernel) kernel_modules.insert(place.module);
      judged(row(tree.place_self, at), function.self, waits_ ? kernel[at] : in_kernel ? 1 : 0, timer[at]);
      judged(row(tree.place_total, at), function.total, kernel[at], timer[at]);
      report_.rows.push_back(std::move(function));
    }
    compare_crates();
    if (report_.metric == Metric::kHeapAllocations) {
      compare_histogram(model::HeapHistogramKind::kSize, report_.sizes);
      compare_histogram(model::HeapHistogramKind::kLifetime, report_.lifetimes);
    }
    for (std::size_t at = 0; at < tree.modules.size(); ++at) {
      DiffGroup group{tree.modules[at], {}};
      judged(row(tree.module_self, at), group.self,
             waits_                                                    ? kernel.back()
             : kernel_modules.contains(static_cast<std::uint32_t>(at)) ? 1
                                                                       : 0,
             timer.back());
      if (group.self.base != 0 || group.self.fresh != 0) report_.modules.push_back(std::move(group));
    }
    report_.looked_at = chances_.size();
    report_.level = holm_level(std::move(chances_));
    Judge judge(report_.level);
    if (!report_.measured) judge.judge(report_.whole);
    for (DiffRow& function : report_.rows) {
      judge.judge(function.self);
      judge.judge(function.total);
    }
    for (std::vector<DiffGroup>* groups : {&report_.threads, &report_.causes, &report_.modules,
                                           &report_.crates, &report_.sizes, &report_.lifetimes}) {
      for (DiffGroup& group : *groups) judge.judge(group.self);
    }
  }

  void compare_crates() {
    const UnionTree& tree = compared_.tree;
    std::map<std::string_view, std::vector<std::int64_t>> crates;
    for (std::size_t at = 0; at < tree.places.size(); ++at) {
      const UnionPlace& place = tree.places[at];
      if (place.kind == NodeKind::kThread || place.kind == NodeKind::kCause) continue;
      const std::string_view crate = crate_of(tree.names[place.name]);
      if (crate.empty()) continue;
      std::vector<std::int64_t>& values = crates[crate];
      values.resize(tree.pieces, 0);
      for (std::size_t piece = 0; piece < tree.pieces; ++piece)
        values[piece] += tree.place_self[at * tree.pieces + piece];
    }
    for (const auto& [name, values] : crates) {
      DiffGroup group{std::string(name), {}};
      test(values, group.self, waits_ ? with_parts(kernel_parts_.back(), timer_parts_.back()) : scales_);
      if (group.self.base != 0 || group.self.fresh != 0) report_.crates.push_back(std::move(group));
    }
  }

  // Sizes and lifetimes are only recorded for the whole recording, so they are not compared for a part of it.
  void compare_histogram(model::HeapHistogramKind kind, std::vector<DiffGroup>& groups) {
    struct Bucket {
      std::vector<std::int64_t> blocks;  // by run
      std::vector<RunScale> scales;
    };
    std::map<std::uint8_t, Bucket> buckets;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const Selection& selection = runs_[run]->selection;
      if (selection.from_ns || selection.to_ns) return;
      for (const auto& [number, row] : histogram_of(*runs_[run]->profile, selection, kind)) {
        Bucket& bucket = buckets[number];
        bucket.blocks.resize(runs_.size(), 0);
        if (bucket.scales.empty()) bucket.scales = scales_;
        bucket.blocks[run] = row.blocks;
        bucket.scales[run].weight = row.weight;
      }
    }
    for (auto& [number, bucket] : buckets) {
      // A side without such blocks would have recorded them with the other side's weight.
      double largest = 0;
      for (std::size_t run = 0; run < runs_.size(); ++run)
        if (bucket.blocks[run] != 0) largest = std::max(largest, bucket.scales[run].weight);
      for (std::size_t run = 0; run < runs_.size(); ++run)
        if (bucket.blocks[run] == 0) bucket.scales[run].weight = largest;
      // Smaller than 2^number, and at least half of it.
      const double from = number == 0 ? 0 : std::ldexp(1.0, number - 1), to = std::ldexp(1.0, number);
      DiffGroup group{kind == model::HeapHistogramKind::kSize
                          ? fmt::format("{} to below {}", bytes(from), bytes(to))
                          : fmt::format("{} to below {}", seconds(from * 1e-9), seconds(to * 1e-9)),
                      {}};
      test(bucket.blocks, group.self, bucket.scales);
      groups.push_back(std::move(group));
    }
  }

  // The share of values in functions that both sides have.
  double in_common() const {
    double common = 0;
    for (const DiffRow& row : report_.rows) {
      if (report_.whole.base > 0 && report_.whole.fresh > 0)
        common += std::min(row.self.base / report_.whole.base, row.self.fresh / report_.whole.fresh);
    }
    return common;
  }

  // Where the runs of a side come from several hosts, hosts are what was chosen to compare.
  bool hosts_are_repeats() const {
    for (std::size_t run = 1; run < runs_.size(); ++run)
      if (run != report_.base_runs &&
          host_of(*runs_[run]->profile) !=
              host_of(*runs_[run < report_.base_runs ? 0 : report_.base_runs]->profile))
        return true;
    return false;
  }

  // Compares every run with the first one of the other side; each kind of doubt is reported once.
  void doubt() {
    constexpr double kSameProgram = 0.5;  // a file may be renamed
    std::set<DoubtKind> seen;
    const bool other_hosts = hosts_are_repeats();
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const bool is_base = run < report_.base_runs;
      const Selection& selection = runs_[run]->selection;
      const model::Profile &base = *runs_[is_base ? run : 0]->profile,
                           &fresh = *runs_[is_base ? report_.base_runs : run]->profile;
      for (Doubt& doubt : doubts_between(base, fresh)) {
        if (doubt.kind == DoubtKind::kHost && other_hosts) continue;
        if (doubt.kind == DoubtKind::kDuration && (selection.to_ns || selection.from_ns))
          continue;  // the user chose the time ranges
        if (doubt.kind == DoubtKind::kProgram && in_common() >= kSameProgram) continue;
        if (seen.insert(doubt.kind).second) report_.doubts.push_back(std::move(doubt));
      }
    }
  }

  const DiffOptions& options_;
  const std::vector<const DiffRun*>& runs_;
  const std::vector<std::size_t>& pieces_;
  const ComparedRuns& compared_;
  std::vector<RunScale> scales_;
  bool waits_ = false;                // the compared values include waiting time
  std::vector<double> timer_parts_;   // of waits, by place: the part that waited for a point in time
  std::vector<double> kernel_parts_;  // the part that varies most, by place: kernel time; of waits, waits for
                                      // devices
  std::vector<double> chances_;
  std::set<std::vector<std::int64_t>> tested_;
  DiffReport report_;
};

}  // namespace

Result<DiffReport> make_diff(const std::vector<DiffRun>& base, const std::vector<DiffRun>& fresh,
                             const DiffOptions& options) {
  ComparedRuns compared = join_runs(base, fresh, options);
  if (const Result<> sound = check_division(compared); !sound) return tl::unexpected(sound.error());
  if (const Result<> measured = check_measured(compared); !measured) return tl::unexpected(measured.error());
  Result<DiffReport> report = Comparison(compared).make();
  if (report) report->tree = std::move(compared.tree);
  return report;
}

NodeFigures node_figures(const DiffReport& report) {
  const UnionTree& tree = report.tree;
  NodeFigures figures;
  figures.base.assign(tree.nodes.size(), 0);
  figures.fresh.assign(tree.nodes.size(), 0);
  for (std::size_t node = 0; node < tree.nodes.size(); ++node) {
    for (std::size_t run = 0; run < tree.runs; ++run) {
      (run < report.base_runs ? figures.base : figures.fresh)[node] +=
          static_cast<double>(tree.node_self[node * tree.runs + run]) * report.run_factors[run];
    }
  }
  return figures;
}

}  // namespace fathom::analysis
