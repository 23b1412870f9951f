#include "analysis/diff/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analysis/core/code_name.h"
#include "analysis/core/heap.h"
#include "analysis/core/source_facts.h"
#include "analysis/core/waits.h"
#include "analysis/core/words.h"
#include "analysis/diff/block_histogram.h"
#include "analysis/diff/load_evenness.h"
#include "analysis/diff/measured.h"
#include "analysis/diff/normalization.h"
#include "analysis/diff/run_spread.h"
#include "analysis/diff/side_samples.h"

namespace fathom::analysis {
namespace {

using model::Metric;

constexpr double kLeastForPieces_s = 2;
constexpr double kLeastSamples = 10;  // of both sides, to be judged
constexpr double kLevelOfTotals = 0.05;
constexpr double kLeastShare = 0.001;  // of both sides' totals

bool is_time(Metric metric) {
  return model::info_of(metric).kind == model::MetricKind::kTime;
}

double cpu_seconds(const DiffRun& run) {
  if (const auto measured = measured_cpu_ns(run)) return measured->value * 1e-9;
  Selection selection = run.selection;
  selection.metric = Metric::kCpu;
  const Filter filter(*run.profile, selection);
  double values = 0;
  for (const model::Sample& sample : run.profile->all_samples()) {
    if (filter.takes(sample)) values += static_cast<double>(sample.value);
  }
  return values * sample_period_ns(*run.profile) * 1e-9;
}

class Comparison {
 public:
  Comparison(const std::vector<DiffRun>& base, const std::vector<DiffRun>& fresh, const DiffOptions& options)
      : options_(options) {
    for (const DiffRun& run : base) runs_.push_back(&run);
    for (const DiffRun& run : fresh) runs_.push_back(&run);
    report_.base_runs = base.size();
    report_.metric = options.metric;
  }

  Result<DiffReport> make() {
    if (const Result<> sound = check_division(); !sound) return tl::unexpected(sound.error());
    report_.normalization = choose_normalization(runs_, report_.base_runs, options_);
    report_.busy_machine = !options_.normalization && report_.normalization == Normalization::kShare &&
                           is_left_over(runs_, report_.base_runs, options_);
    report_.whole_runs =
        std::all_of(runs_.begin(), runs_.end(), [](const DiffRun* run) { return is_whole_run(*run); });
    cut_into_pieces();
    if (report_.tree.whole.empty() || std::all_of(report_.tree.whole.begin(), report_.tree.whole.end(),
                                                  [](std::int64_t v) { return v == 0; }))
      return fail(ErrorKind::kNotFound,
                  fmt::format("neither side has anything of metric {} in this selection",
                              model::to_string(options_.metric)),
                  "fathom report FILE shows what a file holds");
    waits_ = options_.metric == Metric::kOffCpu || options_.metric == Metric::kWall;
    kernel_parts_ = waits_ ? device_parts(report_.tree) : kernel_parts(report_.tree);
    timer_parts_ = waits_ ? timer_parts(report_.tree) : std::vector<double>(kernel_parts_.size());
    for (const DiffRun* run : runs_)
      measured_.push_back(options_.metric == Metric::kCpu ? measured_cpu_ns(*run) : std::nullopt);
    for (const DiffRun* run : runs_)
      clocks_.push_back(options_.metric == Metric::kCpu ? clock_cpu_ns(*run) : std::nullopt);
    unsampled_ = options_.metric == Metric::kCpu &&
                 std::any_of(runs_.begin(), runs_.end(),
                             [](const DiffRun* run) { return is_unsampled(*run->profile); });
    all_measured_ = std::all_of(measured_.begin(), measured_.end(),
                                [](const std::optional<Measured>& cpu) { return cpu.has_value(); });
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const Result<RunScale> scale = scale_of(run);
      if (!scale) return tl::unexpected(scale.error());
      scales_.push_back(*scale);
    }
    if (waits_ && runs_.size() == 2) share_delays(scales_[0], scales_[1]);
    report_.unit = unit();
    if (options_.metric == Metric::kCpu) {
      const std::string counted = unit_of(*runs_.front()->profile, Metric::kCpu);
      if (counted != "samples" && counted != "ns") report_.counted = counted;
    }
    describe_sides();
    compare_all();
    doubt();
    sort_rows();
    return std::move(report_);
  }

 private:
  // Amounts of two different events have no quotient, and a total with negative parts has no shares.
  Result<> check_division() const {
    if (!options_.normalization) return {};
    const bool share = *options_.normalization == Normalization::kShare;
    if (!share && !count_the_same(runs_, options_.metric))
      return fail(ErrorKind::kUsage,
                  fmt::format("base counts {} and new counts {}: their amounts cannot be compared",
                              counted_by(*runs_.front(), options_.metric),
                              counted_by(*runs_.back(), options_.metric)),
                  "--normalize share, or two recordings of one event");
    if (share && any_difference(runs_, options_.metric))
      return fail(ErrorKind::kUsage, "values below 0 are differences, which have no shares",
                  "--normalize absolute");
    return {};
  }

  bool is_base(std::size_t run) const { return run < report_.base_runs; }

  void cut_into_pieces() {
    std::vector<UnionRun> joined;
    for (const DiffRun* run : runs_) {
      TreeOptions options;
      options.selection = run->selection;
      options.selection.metric = options_.metric;
      options.fold_generics = options_.fold_generics;
      options.fold_kernel = true;
      options.drop_idle = options.drop_queue = true;
      UnionRun row{run->profile, std::move(options), {}, run->codes};
      const DiffWindow window = window_of(*run);
      // The heap is recorded in slices, and live memory is not a sum over them.
      const bool cut = is_time(options_.metric) && window.seconds() >= kLeastForPieces_s;
      const std::uint64_t count = cut ? kUsualPieces : 1;
      for (std::uint64_t i = 1; i < count; ++i)
        row.cuts.push_back(window.from + (window.to - window.from) / count * i);
      pieces_.push_back(count);
      joined.push_back(std::move(row));
    }
    report_.tree = build_union_tree(joined);
  }

  std::size_t first_piece_of(std::size_t run) const {
    std::size_t at = 0;
    for (std::size_t i = 0; i < run; ++i) at += pieces_[i];
    return at;
  }

  double whole_of(std::size_t run) const {
    const std::size_t at = first_piece_of(run);
    double whole = 0;
    for (std::size_t i = 0; i < pieces_[run]; ++i) whole += static_cast<double>(report_.tree.whole[at + i]);
    return whole;
  }

  // A side without samples does not show how it was recorded, so it counts as exact if the other side is: a
  // leak that is new in an exact recording.
  double effective_of(std::size_t index) const {
    const std::vector<double>& effective = report_.tree.effective;
    if (effective[index] > 0) return effective[index];
    return *std::max_element(effective.begin(), effective.end()) >= kExact ? kExact : 0;
  }

  Result<RunScale> scale_of(std::size_t index) const {
    const DiffRun& run = *runs_[index];
    const double seconds = window_of(run).seconds();
    const double unit = base_unit(*run.profile, options_.metric);
    const double whole = whole_of(index);
    const double effective = effective_of(index);
    RunScale scale;
    scale.pieces = pieces_[index];
    scale.whole_run = report_.whole_runs;
    scale.weight = effective >= kExact ? 0 : effective > 0 ? whole / effective : 1;
    const bool one_process = std::all_of(runs_.begin(), runs_.end(),
                                         [&](const DiffRun* other) { return other->profile == run.profile; });
    // Every wait is recorded, so only their spread over time shows how they vary.
    if (waits_) scale.whole_run = false;
    scale.own_spread = one_process ? 0 : kRunToRun;
    if (waits_ && !one_process && spread_is_assumed(report_.base_runs, runs_.size()))
      assume_spread_of_waits(scale, *run.profile);
    if (!is_rate() && !may_have_fixed_time(lengths())) scale.starved = 0;
    const Measured* cpu = all_measured_ ? &*measured_[index] : nullptr;
    if (!one_process && options_.metric == Metric::kCpu) {
      const bool phases =
          is_whole_run(run) && has_phases(report_.tree, first_piece_of(index), pieces_[index], scale.weight);
      assume_spread(scale, *run.profile, phases);
      if (const std::optional<Measured>& clock = clocks_[index])
        scale.total_spread = std::hypot(
            spread_of_total(*run.profile, phases, kernel_parts_.back(), clock->value * 1e-9), clock->spread);
      if (is_rate() && spread_is_assumed(report_.base_runs, runs_.size())) scale.starved = starvation_of(run);
    }
    scale.lost_spread = spread_of_losses(lost_share_of(*run.profile, options_.metric));
    const double base = unit > 0 ? unit : 1;
    // A rate of time is a fraction of a core, or of a thread.
    const double rate = is_time(options_.metric) && unit > 0 ? base * 1e-9 : base;
    const auto needs = [&](std::string what, std::string remedy) {
      return fail(ErrorKind::kUsage, fmt::format("{}: {}", run.label, std::move(what)), std::move(remedy));
    };
    switch (report_.normalization) {
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
        if (options_.metric == Metric::kCpu && unit > 0 && scale.weight > 0) {
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
    return scale;
  }

  bool is_rate() const {
    return report_.normalization == Normalization::kPerSecond ||
           (report_.normalization == Normalization::kShare && !report_.whole_runs);
  }

  std::vector<double> lengths() const {
    std::vector<double> seconds;
    for (const DiffRun* run : runs_) seconds.push_back(window_of(*run).seconds());
    return seconds;
  }

  DiffUnit unit() {
    if (report_.normalization == Normalization::kShare) return DiffUnit::kShare;
    const bool timed = std::all_of(runs_.begin(), runs_.end(), [&](const DiffRun* run) {
      return base_unit(*run->profile, options_.metric) > 0;
    });
    if (is_time(options_.metric) && timed) {
      const bool rate = report_.normalization == Normalization::kPerSecond ||
                        report_.normalization == Normalization::kCpuSecond;
      return rate ? DiffUnit::kOfCore : DiffUnit::kNs;
    }
    Selection selection = runs_.front()->selection;
    selection.metric = options_.metric;
    report_.count_unit = unit_of(*runs_.front()->profile, selection);
    return report_.count_unit == "bytes" ? DiffUnit::kBytes : DiffUnit::kCount;
  }

  void describe_sides() {
    if (spread_is_assumed(report_.base_runs, runs_.size()))
      for (const RunScale& scale : scales_) {
        report_.own_spread = std::max(report_.own_spread, scale.own_spread);
        report_.kernel_spread = std::max(report_.kernel_spread, scale.kernel_spread);
      }
    report_.exact = std::all_of(scales_.begin(), scales_.end(), [](const RunScale& scale) {
      return scale.weight <= 0 && scale.lost_spread <= 0;
    });
    std::size_t piece = 0;
    std::array<double, 2> all{}, unmatched{}, by_code{};
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      DiffSide& side = is_base(run) ? report_.base : report_.fresh;
      const auto count =
          static_cast<double>(is_base(run) ? report_.base_runs : runs_.size() - report_.base_runs);
      side.labels.push_back(runs_[run]->label);
      side.seconds += window_of(*runs_[run]).seconds() / count;
      side.samples += samples_of(*runs_[run], options_.metric, report_.tree.samples[run]);
      const double whole = whole_of(run);
      describe_load(run, piece, side);
      const RunScale& scale = scales_[run];
      const double total = scale.of_whole ? 1 : scale.known_total;
      report_.run_factors.push_back((total > 0 ? (whole > 0 ? total / whole : 0) : scale.factor) / count);
      const std::size_t which = is_base(run) ? 0 : 1;
      all[which] += whole;
      for (std::size_t place = 0; place < report_.tree.places.size(); ++place) {
        const UnionPlace& row = report_.tree.places[place];
        if (!row.unmatched && !row.by_code) continue;
        for (std::size_t i = 0; i < pieces_[run]; ++i)
          (row.unmatched ? unmatched : by_code)[which] +=
              static_cast<double>(report_.tree.place_self[place * report_.tree.pieces + piece + i]);
      }
      piece += pieces_[run];
    }
    for (const std::size_t which : {0u, 1u}) {
      DiffSide& side = which == 0 ? report_.base : report_.fresh;
      side.unmatched = all[which] > 0 ? unmatched[which] / all[which] : 0;
      side.by_code = all[which] > 0 ? by_code[which] / all[which] : 0;
      side.spread = spread_of_side(which == 0);
    }
  }

  void describe_load(std::size_t run, std::size_t first_piece, DiffSide& side) const {
    if (report_.metric != Metric::kCpu) return;
    const std::span<const std::int64_t> wholes = report_.tree.whole;
    const auto uneven = unevenness_of(wholes.subspan(first_piece, pieces_[run]), scales_[run].weight);
    if (uneven) side.unevenness = std::max(side.unevenness.value_or(0), *uneven);
  }

  // Of the whole; none if the whole is the same by definition.
  std::optional<double> spread_of_side(bool base) const {
    const auto first =
        base ? scales_.begin() : scales_.begin() + static_cast<std::ptrdiff_t>(report_.base_runs);
    const auto end = base ? scales_.begin() + static_cast<std::ptrdiff_t>(report_.base_runs) : scales_.end();
    const std::vector<RunScale> scales(first, end);
    if (scales.size() < 2 || report_.normalization == Normalization::kShare) return std::nullopt;
    std::size_t from = 0, count = 0;
    for (auto scale = scales_.begin(); scale != first; ++scale) from += scale->pieces;
    for (const RunScale& scale : scales) count += scale.pieces;
    const auto wholes = std::span<const std::int64_t>(report_.tree.whole).subspan(from, count);
    return figure_of(wholes, wholes, scales).spread;
  }

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
    return change_of_runs(values, report_.tree.whole, scales, report_.base_runs);
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
    change.looked_at = !unsampled_ && is_looked_at(values, change, scales);
    if (change.looked_at && tested_.emplace(values.begin(), values.end()).second)
      chances_.push_back(change.p);
  }

  void compare_all() {
    const UnionTree& tree = report_.tree;
    const std::vector<double>& kernel = kernel_parts_;
    const auto judged = [&](std::span<const std::int64_t> values, Change& change, double part,
                            double timer_part) {
      part > 0 || timer_part > 0 ? test(values, change, with_parts(part, timer_part)) : test(values, change);
    };
    const std::vector<double>& timer = timer_parts_;
    if (kernel.back() <= 0) report_.kernel_spread = 0;
    report_.whole = change_of(tree.whole, scales_);
    report_.whole_is_judged = report_.normalization != Normalization::kShare;
    if (std::all_of(clocks_.begin(), clocks_.end(), [](const auto& clock) { return clock.has_value(); }))
      report_.measured = measured_total();
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

  // This total does not depend on samples, so it is not among the figures that are judged together. When
  // shares are compared, it is the total of whole runs, or else a rate per second.
  std::optional<MeasuredTotal> measured_total() const {
    MeasuredTotal total;
    total.per = report_.normalization != Normalization::kShare ? report_.normalization
                : report_.whole_runs                           ? Normalization::kAbsolute
                                                               : Normalization::kPerSecond;
    total.unit = total.per == Normalization::kPerSecond ? DiffUnit::kOfCore : DiffUnit::kNs;
    std::vector<RunScale> scales = scales_;
    std::vector<std::int64_t> wholes = report_.tree.whole;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      RunScale& scale = scales[run];
      // These apply to shares.
      scale.own_spread = scale.kernel_spread = scale.least_spread = scale.lost_spread = 0;
      scale.of_whole = false;
      scale.known_total = clocks_[run]->value;
      if (total.per == Normalization::kPerSecond) {
        const double seconds = window_of(*runs_[run]).seconds();
        if (!(seconds > 0)) return std::nullopt;
        scale.known_total *= 1e-9 / seconds;
      } else if (total.per == Normalization::kWork) {
        scale.known_total /= runs_[run]->work;
      } else if (total.per != Normalization::kAbsolute) {
        return std::nullopt;  // a second always contains CPU time
      }
      if (whole_of(run) > 0) continue;
      // Its clock has a total, but there is no sample to divide it.
      scale.weight = 0;
      std::fill_n(wholes.begin() + static_cast<std::ptrdiff_t>(first_piece_of(run)), pieces_[run], 1);
    }
    total.change = change_of_runs(wholes, wholes, scales, report_.base_runs);
    total.change.looked_at = true;
    judge(total.change, kLevelOfTotals);
    return total;
  }

  void compare_crates() {
    const UnionTree& tree = report_.tree;
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

  // Compares every run with the first; each kind of doubt is reported once.
  void doubt() {
    constexpr double kSameProgram = 0.5;  // a file may be renamed
    std::set<DoubtKind> seen;
    for (std::size_t run = 1; run < runs_.size(); ++run) {
      const Selection& selection = runs_[run]->selection;
      for (Doubt& doubt : doubts_between(*runs_.front()->profile, *runs_[run]->profile)) {
        if (doubt.kind == DoubtKind::kDuration && (selection.to_ns || selection.from_ns))
          continue;  // the user chose the time ranges
        if (doubt.kind == DoubtKind::kProgram && in_common() >= kSameProgram) continue;
        if (seen.insert(doubt.kind).second) report_.doubts.push_back(std::move(doubt));
      }
    }
  }

  void sort_rows() {
    std::sort(report_.rows.begin(), report_.rows.end(), [](const DiffRow& a, const DiffRow& b) {
      const auto key = [](const DiffRow& row) {
        return std::tuple(-std::fabs(row.self.change), -std::fabs(row.total.change),
                          std::string_view(row.name), std::string_view(row.module));
      };
      return key(a) < key(b);
    });
    for (std::vector<DiffGroup>* groups :
         {&report_.threads, &report_.causes, &report_.modules, &report_.crates}) {
      std::sort(groups->begin(), groups->end(), [](const DiffGroup& a, const DiffGroup& b) {
        return std::pair(-std::fabs(a.self.change), std::string_view(a.name)) <
               std::pair(-std::fabs(b.self.change), std::string_view(b.name));
      });
    }
    find_places();
  }

  // Source locations of the functions that changed. Names without their build-specific parts cannot be looked
  // up again, so they have none.
  void find_places() {
    const bool any = std::any_of(report_.rows.begin(), report_.rows.end(), [](const DiffRow& row) {
      return row.self.beyond_noise || row.total.beyond_noise;
    });
    if (!any || options_.fold_generics) return;
    for (const std::size_t run : {runs_.size() - 1, std::size_t{0}}) {
      Selection selection = runs_[run]->selection;
      selection.metric = options_.metric;
      const model::Profile& profile = *runs_[run]->profile;
      std::vector<std::int64_t> leaves(profile.stacks.size(), 0);
      for (const StackValue& value : stack_values(profile, selection))
        leaves[value.stack.value] = value.value;
      const SourceFacts facts(profile, frame_weights_of(profile, leaves));
      for (DiffRow& row : report_.rows) {
        if (row.line != 0 || !(row.self.beyond_noise || row.total.beyond_noise)) continue;
        const SourcePlace place = facts.place_of(row.name);
        row.file = place.file;
        row.line = place.line;
      }
    }
  }

  const DiffOptions& options_;
  std::vector<const DiffRun*> runs_;
  std::vector<std::size_t> pieces_;
  std::vector<RunScale> scales_;
  bool waits_ = false;                           // the compared values include waiting time
  std::vector<std::optional<Measured>> clocks_;  // of CPU time, also of threads that could not be sampled
  bool unsampled_ = false;  // a run has no samples of its CPU time: nothing is known about its functions
  std::vector<double> timer_parts_;   // of waits, by place: the part that waited for a point in time
  std::vector<double> kernel_parts_;  // the part that varies most, by place: kernel time; of waits, waits for
                                      // devices
  std::vector<std::optional<Measured>> measured_;  // CPU time by run
  bool all_measured_ = false;
  std::vector<double> chances_;
  std::set<std::vector<std::int64_t>> tested_;
  DiffReport report_;
};

}  // namespace

Result<DiffReport> make_diff(const std::vector<DiffRun>& base, const std::vector<DiffRun>& fresh,
                             const DiffOptions& options) {
  return Comparison(base, fresh, options).make();
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
