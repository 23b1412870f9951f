#include "analysis/summary/report.h"
#include "analysis/stacks/kept_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "analysis/core/empty_selection.h"
#include "analysis/core/waits.h"
#include "analysis/core/words.h"
#include "model/facts.h"
#include "model/recorded_time.h"

namespace fathom::analysis {
namespace {

// Of CPU time, a part in which all threads wait has no samples: that is an answer too.
bool holds_waits(const model::Profile& profile, const Selection& selection) {
  return selection.metric == model::Metric::kCpu && !selection.stacks && !profile.all_waits().empty() &&
         !Waits(profile, selection).rows().empty();
}

// Very many threads, each of next to nothing: chains of calls below each of them would show none.
bool none_stands_out(const std::vector<ThreadRow>& threads) {
  constexpr std::size_t kVeryMany = 100;
  constexpr double kStandsOut = 0.05;
  if (threads.size() < kVeryMany) return false;
  double all = 0, most = 0;
  for (const ThreadRow& row : threads) {
    all += static_cast<double>(row.value);
    most = std::max(most, static_cast<double>(row.value));
  }
  return most < kStandsOut * all;
}

// Of processes that live for a millisecond the kernel has booked little when they end; the samples saw them run.
bool misses_much(double exact_s, double sampled_s, const CallTree& tree) {
  constexpr std::int64_t kEnough = 200;  // samples
  constexpr double kMuch = 1.25;
  return tree.total >= kEnough && sampled_s > kMuch * exact_s;
}

}  // namespace

Activity measure_activity(const model::Profile& profile, const Selection& selection, const CallTree& tree) {
  Activity activity;
  activity.cpus = model::facts_of<model::OriginFacts>(profile.meta).cpus.value_or(0);
  const double length = profile.meta.end_ns > profile.meta.start_ns ? profile.duration_s() : 0;
  const double gaps = length - model::recorded_s(profile);  // of merged recordings
  const double from = selection.from_ns ? static_cast<double>(*selection.from_ns) * 1e-9 : 0;
  const double to = selection.to_ns ? std::min(length, static_cast<double>(*selection.to_ns) * 1e-9) : length;
  const bool whole_time = !selection.from_ns && !selection.to_ns;
  activity.duration_s = std::max(0.0, to - from - (whole_time ? gaps : 0));
  // Of memory alone only the first thread is known, and of that one only how it began.
  activity.watched = profile.meta.engine.empty() || profile.meta.frequency_hz != 0 ||
                     !profile.all_samples().empty() || !profile.all_waits().empty();
  if (!activity.watched) return activity;
  std::uint64_t exact_ns = 0;
  const Filter filter(profile, selection);
  for (std::uint32_t i = 0; i < profile.threads.size(); ++i) {
    if (filter.takes_thread({i})) exact_ns += profile.threads[i].cpu_ns;
  }
  const bool beats =
      selection.metric == model::Metric::kCpu && profile.meta.frequency_hz != 0 && tree.unit == "samples";
  const double sampled_s = beats ? static_cast<double>(tree.total) / profile.meta.frequency_hz : 0;
  const double exact_s = whole_time ? static_cast<double>(exact_ns) / 1e9 : 0;
  if (exact_s > 0 && !misses_much(exact_s, sampled_s, tree)) {
    activity.cpu_s = exact_s;
    activity.exact = true;
  } else if (beats) {
    // For a part of the time the clock has no value, and samples only if all could be taken.
    const model::SamplingFigures whole{.cpu_s = static_cast<double>(exact_ns) / 1e9,
                                       .samples = profile.quality.samples};
    if (!model::find_unsampled(profile.meta, whole)) activity.cpu_s = sampled_s;
  } else if (selection.metric == model::Metric::kCpu && tree.unit == "ns") {  // imported clock events
    activity.cpu_s = static_cast<double>(tree.total) / 1e9;
  }
  return activity;
}

std::optional<model::Unsampled> find_unsampled(const model::Profile& profile, const Selection& selection,
                                               const Activity& activity, const CallTree& tree) {
  if (model::is_heap(selection.metric) || selection.stacks || !activity.exact) return std::nullopt;
  const model::Quality& quality = profile.quality;
  const bool of_cpu = selection.metric == model::Metric::kCpu;  // trees of others hold waits
  return model::find_unsampled(profile.meta,
                               {.cpu_s = activity.cpu_s,
                                .samples = of_cpu ? tree.samples : quality.samples,
                                .lost = quality.lost_ring_full + quality.lost_stack + quality.lost_disk,
                                .whole = !selection.thread && !selection.from_ns && !selection.to_ns});
}

std::uint64_t samples_in(const CallTree& tree) {
  if (tree.unit == "samples" && tree.total > 0) return static_cast<std::uint64_t>(tree.total);
  return tree.samples - tree.waits;
}

model::Metric default_metric(const model::Profile& profile) {
  const std::vector<model::Metric> metrics = metrics_in(profile);
  if (metrics.empty()) return model::Metric::kCpu;
  const bool only_heap = profile.all_samples().empty() && profile.all_waits().empty();
  if (!only_heap) return metrics.front();  // kCpu is the enum's first
  return default_heap_metric(profile);
}

model::Metric default_heap_metric(const model::Profile& profile) {
  return profile.heap.heaps.front().from_start ? model::Metric::kHeapPeak : model::Metric::kHeapLive;
}

std::int64_t total_without_choice(const model::Profile& profile, const Selection& selection) {
  Selection all = selection;
  all.stacks = nullptr;
  return build_call_tree(profile, {.selection = all, .thread_roots = false}).total;
}

static std::int64_t waited_by_stack(const model::Profile& profile, const Selection& selection) {
  const auto waits = [](const model::Sample& sample) { return sample.metric == model::Metric::kOffCpu; };
  if (std::ranges::none_of(profile.all_samples(), waits)) return 0;
  Selection waiting = selection;
  waiting.metric = model::Metric::kOffCpu;
  return build_call_tree(profile, {.selection = waiting, .thread_roots = false}).total;
}

// The look is one of all threads, at the end.
static stacks::Look find_stuck(const model::Profile& profile, const Selection& selection) {
  const auto fact = profile.meta.facts.find(stacks::kLookFact);
  if (fact == profile.meta.facts.end() || selection.stacks || selection.thread || selection.pid ||
      selection.to_ns)
    return {};
  return stacks::look_of_fact(fact->second);
}

Result<Report> make_report(const model::Profile& profile, const ReportOptions& options) {
  Report report;
  report.profile = &profile;
  report.selection = options.selection;
  report.sort = options.sort;
  TreeOptions tree_options;
  tree_options.selection = options.selection;
  // Who asks for the callers of a container wants to see it.
  if (!tree_options.selection.fold_containers)
    tree_options.selection.fold_containers = options.callers.empty() && options.callees.empty();
  tree_options.fold_generics = options.fold_generics;
  report.threads = thread_table(profile, options.selection);
  tree_options.thread_roots = !none_stands_out(report.threads);
  report.tree = build_call_tree(profile, tree_options);
  // A heap of which nothing is live, or nothing temporary, is an answer and no mistake. So are samples of fathom's own work alone.
  const bool of_heap = model::is_heap(options.selection.metric) && !profile.heap.empty();
  if (report.tree.samples == 0 && report.tree.tracer == 0 && !of_heap &&
      (!profile.all_samples().empty() || !profile.all_waits().empty()) &&
      !holds_waits(profile, options.selection)) {
    return tl::unexpected(nothing_selected(profile, options.selection));
  }
  if (options.selection.stacks) report.whole = total_without_choice(profile, options.selection);
  report.least_share = options.least_share;
  std::optional<CallRowsMaker> maker;
  if (options.tree || !options.callers.empty() || !options.callees.empty())
    maker.emplace(profile, tree_options.selection, report.tree, options.least_share);
  report.direction = options.tree;
  if (options.tree) report.call_rows = maker->of_tree(*options.tree);
  for (const bool callers : {true, false}) {
    for (const std::string& pattern : callers ? options.callers : options.callees) {
      Result<Neighbours> around = find_neighbours(report.tree, pattern);
      if (!around) return tl::unexpected(around.error());
      const std::vector<char> names = matching_names(report.tree, pattern).value();
      (callers ? report.callers : report.callees)
          .push_back({pattern, std::move(*around), callers ? maker->callers(names) : maker->callees(names)});
    }
  }
  // The two take about the same time, and neither knows of the other. Without another thread it is found when it is asked for.
  constexpr std::size_t kLargeTree = 100'000;
  const bool aside = report.tree.nodes.size() >= kLargeTree;
  auto hot_path = std::async(aside ? std::launch::async | std::launch::deferred : std::launch::deferred,
                             [&] { return find_hot_path(profile, options.selection, report.tree); });
  report.functions = function_table(report.tree, options.sort);
  report.processes = process_table(profile, options.selection);
  report.modules = module_table(report.tree);
  report.series = series_table(profile, options.selection);
  report.activity = measure_activity(profile, options.selection, report.tree);
  report.unsampled = find_unsampled(profile, options.selection, report.activity, report.tree);
  report.quality = judge_quality(profile, report.tree, report.modules, report.unsampled);
  if (!profile.all_waits().empty() || model::has_thread_times(profile))
    report.waits = make_wait_report(profile, options.selection);
  else
    report.stacks_waited_ns = waited_by_stack(profile, options.selection);
  report.heap = make_heap_report(profile, options.selection);
  if (options.heap_by && of_heap)
    report.heap_groups = group_heap(profile, {.selection = options.selection,
                                              .by = *options.heap_by,
                                              .by_total = options.sort == SortBy::kTotal,
                                              .fold_generics = options.fold_generics});
  if (options.group_by)
    report.groups = group_stacks(profile, tree_options.selection, *options.group_by, options.sort);
  if (options.subsystems)
    report.groups = group_by_subsystem(profile, tree_options.selection, *options.subsystems, options.sort);
  report.hot_path = hot_path.get();
  if (options.selection.metric == model::Metric::kCpu)
    report.allocator_cpu = allocator_cpu(profile, options.selection);
  report.stuck = find_stuck(profile, options.selection);
  report.resident = find_resident(profile, options.selection);
  report.memory = make_rss_breakdown(profile, options.selection);
  return report;
}

}  // namespace fathom::analysis
