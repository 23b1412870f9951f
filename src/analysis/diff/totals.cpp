#include "analysis/diff/totals.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "analysis/core/quantiles.h"
#include "analysis/core/waits.h"
#include "analysis/diff/measured.h"
#include "analysis/diff/measured_metric.h"
#include "analysis/diff/memory_diff.h"
#include "analysis/diff/run_spread.h"
#include "analysis/diff/stable_name.h"
#include "base/stable_sort.h"
#include "model/facts.h"
#include "model/system_call_rows.h"

namespace fathom::analysis {
namespace {

using model::Metric;

constexpr double kLevel = 0.05;
// For the duration of equal runs: cached files or not, timers, peers.
constexpr double kRunToRunOfWall = 0.05;
constexpr std::size_t kMostFunctions = 3;  // counted functions
// A peak between two readings is missed, so a few readings do not show it.
constexpr std::size_t kLeastReadings = 5;

std::vector<const DiffRun*> joined(const std::vector<DiffRun>& base, const std::vector<DiffRun>& fresh) {
  std::vector<const DiffRun*> runs;
  for (const auto* side : {&base, &fresh})
    for (const DiffRun& run : *side) runs.push_back(&run);
  return runs;
}

// How totals without a report of their own are normalized: like CPU time.
Normalization common_measure(const std::vector<const DiffRun*>& runs) {
  const auto all = [&](const auto& holds) {
    return std::all_of(runs.begin(), runs.end(), [&](const DiffRun* run) { return holds(*run); });
  };
  if (all([](const DiffRun& run) { return run.work > 0; })) return Normalization::kWork;
  return all(is_whole_run) ? Normalization::kAbsolute : Normalization::kPerSecond;
}

Total total_of(TotalKind kind, const std::vector<double>& values, const std::vector<RunScale>& scales,
               std::size_t base_runs) {
  Total total;
  total.kind = kind;
  std::vector<std::int64_t> whole;
  for (const double value : values) whole.push_back(std::llround(std::clamp(value, 0.0, 9e18)));
  total.change = change_of_runs(whole, whole, scales, base_runs);
  total.change.looked_at = true;
  judge(total.change, kLevel);
  total.ratio = ratio_of(total.change);
  return total;
}

class Maker {
 public:
  Maker(const std::vector<DiffRun>& base, const std::vector<DiffRun>& fresh)
      : runs_(joined(base, fresh)), base_runs_(base.size()), per_(common_measure(runs_)) {
    one_process_ = std::all_of(runs_.begin(), runs_.end(),
                               [&](const DiffRun* run) { return run->profile == runs_.front()->profile; });
  }

  std::vector<double> lengths() const {
    std::vector<double> seconds;
    for (const DiffRun* run : runs_) seconds.push_back(window_of(*run).seconds());
    return seconds;
  }

  // Of one thread, if all its waits for devices came one after another.
  static double device_wait_ns(const DiffRun& run) {
    const Waits waits(*run.profile, run.selection);
    double sum = 0;
    for (const SelectedWait& row : waits.rows())
      if (!row.idle && is_of_device(row.cause))
        sum += static_cast<double>(weighted_ns(row.waited_ns, waits.weight(row)));
    return sum;
  }

  // If a person ended the recording, that person chose its length.
  void add_wall(std::vector<Total>& totals) const {
    if (per_ == Normalization::kPerSecond) return;
    std::vector<double> values;
    std::vector<RunScale> scales;
    for (const DiffRun* run : runs_) {
      const auto wall = measured_wall_ns(*run);
      if (!wall) return;
      values.push_back(wall->value);
      RunScale scale = exact(*run, kRunToRunOfWall);
      const double of_devices = device_wait_ns(*run) / wall->value;
      scale.own_spread = std::hypot(scale.own_spread, kRunToRunOfDevices * std::min(of_devices, 1.0));
      scale.delayed = runs_.size() == 2 ? delay_of(*run) : 0;
      scales.push_back(scale);
    }
    if (scales.size() == 2) share_delays(scales[0], scales[1]);
    Total total = total_of(TotalKind::kWall, values, scales, base_runs_);
    total.per = per_;
    totals.push_back(std::move(total));
  }

  // Of a function that was not called there is no row, but its run knows that calls were counted.
  static bool counts_calls(const model::Profile& profile) {
    return !model::facts_of<model::OriginFacts>(profile.meta).probes.empty() ||
           std::ranges::any_of(profile.calls, [&](const model::Calls& row) {
             return model::kind_of(profile, row) == model::CallsKind::kProbed;
           });
  }

  void add_calls(std::vector<Total>& totals) const {
    if (!std::ranges::all_of(runs_, [](const DiffRun* run) { return counts_calls(*run->profile); })) return;
    std::map<std::string, std::vector<double>> counted;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const model::Profile& profile = *runs_[run]->profile;
      const Filter filter(profile, runs_[run]->selection);
      for (const model::Calls& row : profile.calls) {
        if (model::kind_of(profile, row) != model::CallsKind::kProbed) continue;
        if (!filter.takes_time(row.time_ns)) continue;
        std::vector<double>& calls =
            counted[std::string(stable_name(profile.strings[profile.functions[row.function.value].name]))];
        calls.resize(runs_.size(), 0);
        calls[run] += static_cast<double>(row.calls);
      }
    }
    std::vector<RunScale> scales;
    for (const DiffRun* run : runs_) {
      RunScale scale = exact(*run, kRunToRun);
      if (!make_rate(scale, *run)) return;
      if (per_ == Normalization::kPerSecond && runs_.size() == 2) scale.starved = starvation_of(*run);
      scales.push_back(scale);
    }
    std::vector<Total> found;
    for (const auto& [name, values] : counted) {
      Total total = total_of(TotalKind::kCalls, values, scales, base_runs_);
      total.name = name;
      total.per = per_;
      total.unit = DiffUnit::kCount;
      found.push_back(std::move(total));
    }
    stable_sort_rows(found.begin(), found.end(), [](const Total& a, const Total& b) {
      return std::max(a.change.base, a.change.fresh) > std::max(b.change.base, b.change.fresh);
    });
    found.resize(std::min(found.size(), kMostFunctions));
    totals.insert(totals.end(), found.begin(), found.end());
  }

  // The number of waits depends mostly on the program, apart from races; their length also depends on the
  // machine.
  void add_waits(std::vector<Total>& totals) const {
    for (const DiffRun* run : runs_)
      if (!is_measured(*run->profile, Metric::kOffCpu)) return;
    constexpr double kSpreadOfCounts = 0.05, kLeastWaits = 10;
    const bool may_be_starved = per_ == Normalization::kPerSecond || may_have_fixed_time(lengths());
    std::map<Cause, std::vector<WaitSum>> causes;
    std::vector<double> queued(runs_.size());
    bool any = false;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const Waits waits(*runs_[run]->profile, runs_[run]->selection);
      any = any || !waits.rows().empty();
      for (const SelectedWait& row : waits.rows()) {
        if (row.queued_ns != 0 && row.queue_cause == Cause::kRunQueue)
          queued[run] += static_cast<double>(weighted_ns(row.queued_ns, waits.queue_weight(row)));
        if (row.waited_ns == 0 || row.idle) continue;
        std::vector<WaitSum>& sums = causes[row.cause];
        sums.resize(runs_.size());
        sums[run].add(row.waited_ns, waits.weight(row));
      }
    }
    if (!any) return;
    std::vector<Total> found;
    for (const auto& [cause, sums] : causes) {
      std::vector<double> counts;
      std::vector<RunScale> scales;
      for (std::size_t run = 0; run < runs_.size(); ++run) {
        counts.push_back(sums[run].waits());
        const double busy = cpu_wait_share(*runs_[run]->profile);
        // Waits arrive one by one, like samples; the number of waits without a stack is an estimate.
        const double estimated = sums[run].waits() > 0 ? sums[run].waits_error() / 2 / sums[run].waits() : 0;
        const bool own = is_of_timer(cause) || is_of_device(cause);
        const double machine = (own ? kSpreadOfOwnWaits : kSpreadOfWaits) * busy;
        RunScale scale = exact(*runs_[run], std::hypot(kSpreadOfCounts, machine, estimated));
        scale.weight = 1;
        if (!make_rate(scale, *runs_[run])) return;
        if (runs_.size() == 2 && may_be_starved) scale.delayed = scale.starved = starvation(busy);
        scales.push_back(scale);
      }
      Total total = total_of(TotalKind::kWaits, counts, scales, base_runs_);
      total.name = describe(cause);
      total.per = per_;
      total.unit = DiffUnit::kCount;
      total.change.looked_at = *std::max_element(counts.begin(), counts.end()) >= kLeastWaits;
      if (!total.change.looked_at) total.change.beyond_noise = false;
      found.push_back(std::move(total));
    }
    stable_sort_rows(found.begin(), found.end(), [](const Total& a, const Total& b) {
      return std::max(a.change.base, a.change.fresh) > std::max(b.change.base, b.change.fresh);
    });
    totals.insert(totals.end(), found.begin(), found.end());
    std::vector<RunScale> scales;
    for (const DiffRun* run : runs_) {
      RunScale scale = exact(*run, kRunToRunOfWaits);
      if (!make_rate(scale, *run)) return;
      if (per_ == Normalization::kPerSecond) scale.factor *= 1e-9;  // of one thread, permanently
      scales.push_back(scale);
    }
    Total queue = total_of(TotalKind::kQueue, queued, scales, base_runs_);
    queue.per = per_;
    queue.unit = per_ == Normalization::kPerSecond ? DiffUnit::kOfCore : DiffUnit::kNs;
    queue.change.looked_at = queue.change.beyond_noise = false;
    if (queue.change.base != 0 || queue.change.fresh != 0) totals.push_back(std::move(queue));
  }

  void add_peak_rss(std::vector<Total>& totals) const {
    std::vector<double> peaks;
    std::vector<RunScale> scales;
    bool enough = true;
    for (const DiffRun* run : runs_) {
      const Readings readings = rss_of(*run);
      if (readings.moments == 0) return;
      enough = enough && readings.moments >= kLeastReadings;
      peaks.push_back(readings.highest);
      scales.push_back(exact(*run, kRunToRunOfMemory));
      scales.back().factor = 1;
    }
    Total total = total_of(TotalKind::kPeakRss, peaks, scales, base_runs_);
    total.unit = DiffUnit::kBytes;
    if (!enough) {
      total.change.looked_at = total.change.beyond_noise = false;
      total.ratio.reset();
    }
    totals.push_back(std::move(total));
  }

 private:
  RunScale exact(const DiffRun& run, double spread) const {
    RunScale scale;
    scale.weight = 0;
    scale.whole_run = true;
    scale.own_spread = one_process_ ? 0 : spread;
    if (per_ == Normalization::kWork) scale.factor = 1 / run.work;
    return scale;
  }

  // False if the figure is a rate and no clock gives the time.
  bool make_rate(RunScale& scale, const DiffRun& run) const {
    if (per_ != Normalization::kPerSecond) return true;
    const double seconds = window_of(run).seconds();
    if (seconds > 0) scale.factor = 1 / seconds;
    return seconds > 0;
  }

  struct Readings {
    double highest = 0;
    std::size_t moments = 0;
  };
  // For all processes in the selection together.
  static Readings rss_of(const DiffRun& run) {
    static constexpr std::string_view kParts[] = {"memory.rss", "memory.rss_anon", "memory.rss_file",
                                                  "memory.rss_shmem"};
    const model::Profile& profile = *run.profile;
    const Filter filter(profile, run.selection);
    struct Reading {
      std::uint64_t time_ns;
      std::size_t series;
      double value;
    };
    std::vector<Reading> all;
    for (std::size_t i = 0; i < profile.series.size(); ++i) {
      const model::Series& series = profile.series[i];
      if (run.selection.pid && series.pid != *run.selection.pid) continue;
      if (std::ranges::find(kParts, profile.strings[series.name]) == std::end(kParts)) continue;
      for (const model::Point& point : series.points)
        if (filter.takes_time(point.time_ns) && std::isfinite(point.value) && point.value >= 0)
          all.push_back({point.time_ns, i, point.value});
    }
    stable_sort_rows(all.begin(), all.end(),
                     [](const Reading& a, const Reading& b) { return a.time_ns < b.time_ns; });
    Readings readings;
    std::map<std::size_t, double> now;
    double sum = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      double& value = now[all[i].series];
      sum += all[i].value - value;
      value = all[i].value;
      // Add up all parts of one moment.
      if (i + 1 < all.size() && all[i + 1].time_ns == all[i].time_ns) continue;
      readings.highest = std::max(readings.highest, sum);
      ++readings.moments;
    }
    return readings;
  }

  std::vector<const DiffRun*> runs_;
  std::size_t base_runs_;
  Normalization per_;
  bool one_process_ = false;
};

std::optional<TotalKind> kind_of(Metric metric) {
  switch (metric) {
    case Metric::kHeapAllocations:
      return TotalKind::kAllocations;
    case Metric::kHeapAllocated:
      return TotalKind::kAllocated;
    case Metric::kHeapPeak:
      return TotalKind::kHeapPeak;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Ratio> ratio_of(const Change& change) {
  if (!(change.base > 0) || !(change.fresh > 0)) return std::nullopt;
  const double sd = std::hypot(change.base_sd / change.base, change.fresh_sd / change.fresh);
  const double width = sd > 0 ? sd * students_t_upper_quantile(kLevel / 2, change.freedom) : 0;
  constexpr double kMost = 700;  // e^700 is still a number
  Ratio ratio;
  ratio.value = change.fresh / change.base;
  ratio.low = ratio.value * std::exp(-std::min(width + change.less, kMost));
  ratio.high = ratio.value * std::exp(std::min(width + change.more, kMost));
  if (!std::isfinite(ratio.value) || !std::isfinite(ratio.high)) return std::nullopt;
  return ratio;
}

std::vector<Total> make_totals(const std::vector<DiffRun>& base, const std::vector<DiffRun>& fresh,
                               const std::vector<DiffReport>& reports) {
  std::vector<Total> totals;
  if (base.empty() || fresh.empty()) return totals;
  const auto report_of = [&](Metric metric) {
    return std::find_if(reports.begin(), reports.end(),
                        [&](const DiffReport& report) { return report.metric == metric; });
  };
  if (const auto cpu = report_of(Metric::kCpu); cpu != reports.end()) {
    Total total;
    if (cpu->measured) {
      total.change = cpu->measured->change;
      total.per = cpu->measured->per;
      total.unit = cpu->measured->unit;
    } else if (cpu->whole_is_judged && cpu->unit != DiffUnit::kCount && cpu->counted.empty()) {
      total.change = cpu->whole;
      total.per = cpu->normalization;
      total.unit = cpu->unit;
      total.sampled = !cpu->exact;
    }
    total.ratio = ratio_of(total.change);
    if (total.change.looked_at) totals.push_back(std::move(total));
  }
  const Maker maker(base, fresh);
  maker.add_wall(totals);
  maker.add_calls(totals);
  maker.add_waits(totals);
  for (const Metric metric : {Metric::kHeapAllocations, Metric::kHeapAllocated, Metric::kHeapPeak}) {
    const auto heap = report_of(metric);
    if (heap == reports.end() || !heap->whole_is_judged) continue;
    Total total;
    total.kind = *kind_of(metric);
    total.change = heap->whole;
    total.ratio = ratio_of(total.change);
    total.per = heap->normalization;
    total.unit = heap->unit;
    total.sampled = !heap->exact;
    totals.push_back(std::move(total));
  }
  maker.add_peak_rss(totals);
  return totals;
}

}  // namespace fathom::analysis
