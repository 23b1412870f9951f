#include "analysis/summary/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "analysis/core/words.h"

namespace fathom::analysis {
namespace {

std::uint32_t number_in(const std::map<std::string, std::string>& facts, const std::string& key) {
  const auto found = facts.find(key);
  std::uint32_t value = 0;
  if (found != facts.end()) {
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  }
  return value;
}

// Why nothing is left, when something was there.
Error nothing_selected(const model::Profile& profile, const Selection& selection) {
  const std::vector<model::Metric> metrics = metrics_in(profile);
  if (std::find(metrics.begin(), metrics.end(), selection.metric) == metrics.end()) {
    std::string known;
    for (const model::Metric metric : metrics) {
      known += (known.empty() ? "--metric " : " or --metric ") + std::string(model::to_string(metric));
    }
    return {ErrorKind::kNotFound, fmt::format("no samples of metric {}", model::to_string(selection.metric)),
            known};
  }
  if (selection.thread) {
    return {ErrorKind::kNotFound,
            fmt::format("no samples of thread '{}' in this selection", *selection.thread),
            "--threads lists the threads"};
  }
  return {ErrorKind::kNotFound, "the selection leaves no samples",
          fmt::format("the recording has {} s; times count from its start", profile.duration_s())};
}

std::string sentence_of_origin(const Report& report) {
  const model::Meta& meta = report.profile->meta;
  const CallTree& tree = report.tree;
  std::string text = meta.target.empty() ? std::string("This profile") : printable(meta.target);
  const std::uint64_t samples = tree.samples - tree.waits;
  text += ": ";
  if (model::is_heap(tree.metric) && report.heap) {
    text += fmt::format("{} of {}", model::info_of(tree.metric).sentence,
                        counted(tree.samples, "place that allocates", "places that allocate"));
  } else if (samples != 0 || tree.waits == 0) {
    const std::string_view kind =
        tree.waits != 0 && tree.metric == model::Metric::kWall ? "CPU" : model::info_of(tree.metric).sentence;
    text += counted(samples, fmt::format("{} sample", kind));
  }
  if (tree.waits != 0) text += (samples == 0 ? "" : " and ") + counted(tree.waits, "wait");
  if (report.activity.duration_s > 0) text += " in " + seconds(report.activity.duration_s);
  std::vector<std::string> parts;
  if (!meta.event.empty() && !model::is_heap(tree.metric)) {
    parts.push_back(printable(meta.event) +
                    (meta.frequency_hz ? fmt::format(" at {} Hz", meta.frequency_hz) : ""));
  }
  if (!meta.engine.empty())
    parts.push_back(meta.engine == "import" ? "imported" : "engine " + printable(meta.engine));
  if (tree.unit != "samples") parts.push_back(amount(static_cast<double>(tree.total), tree.unit) + " in all");
  return text + (parts.empty() ? "." : fmt::format(" ({}).", fmt::join(parts, ", ")));
}

std::string sentence_of_activity(const Activity& activity) {
  if (!activity.cpus_used()) return "";
  const double used = *activity.cpus_used();
  const std::string of = activity.cpus == 0 ? "" : fmt::format(" of {}", activity.cpus);
  if (activity.idle()) {
    return fmt::format("The process was idle: {} CPU ({} of CPU time{}).", percent(used),
                       seconds(*activity.cpu_s), activity.exact ? "" : ", estimated from samples");
  }
  return fmt::format("It used {} of CPU time{}: {:.2f}{} CPUs on average.", seconds(*activity.cpu_s),
                     activity.exact ? "" : " (estimated from samples)", used, of);
}

std::string share_with_error(const CallTree& tree, std::int64_t value) {
  return fmt::format("{} ±{}", percent(share(tree, value)),
                     percent_number(share_interval(tree, value).half_width()));
}

std::string sentence_of_cost(const Report& report) {
  const CallTree& tree = report.tree;
  if (tree.waits != 0) return "";  // of waits, the sentences above say more
  if (report.functions.empty()) return "No sample has a stack.";
  const FunctionRow top =
      *std::max_element(report.functions.begin(), report.functions.end(),
                        [](const FunctionRow& a, const FunctionRow& b) { return a.self < b.self; });
  std::string text = fmt::format("The largest cost of its own is {}", printable(tree.names[top.name]));
  if (const std::string& module = tree.modules[top.module].name; !module.empty())
    text += " in " + printable(module);
  text += fmt::format(", {}", share_with_error(tree, top.self));
  if (is_noise(tree, top.self)) text += ", which is no more than noise";
  if (!report.modules.empty()) {
    const ModuleRow& module = report.modules.front();
    const std::string& name = tree.modules[module.module].name;
    text +=
        fmt::format("; the largest module is {}, {}", name.empty() ? "code of no module" : printable(name),
                    percent(share(tree, module.self)));
  }
  return text + ".";
}

std::string sentence_of_threads(const Report& report) {
  if (report.threads.size() < 2 || report.tree.waits != 0) return "";  // who waits most is not busy
  const ThreadRow& top = report.threads.front();
  return fmt::format("The busiest of {} threads is {}{}, {}.",
                     with_commas(static_cast<std::int64_t>(report.threads.size())), printable(top.name),
                     top.tid == 0 ? "" : fmt::format(" (tid {})", top.tid),
                     percent(share(report.tree, top.value)));
}

}  // namespace

Activity measure_activity(const model::Profile& profile, const Selection& selection, const CallTree& tree) {
  Activity activity;
  activity.cpus = number_in(profile.meta.facts, "cpus");
  const double length = profile.meta.end_ns > profile.meta.start_ns ? profile.duration_s() : 0;
  const double from = selection.from_ns ? static_cast<double>(*selection.from_ns) * 1e-9 : 0;
  const double to = selection.to_ns ? std::min(length, static_cast<double>(*selection.to_ns) * 1e-9) : length;
  activity.duration_s = std::max(0.0, to - from);
  const bool whole_time = !selection.from_ns && !selection.to_ns;
  std::uint64_t exact_ns = 0;
  const Filter filter(profile, selection);
  for (std::uint32_t i = 0; i < profile.threads.size(); ++i) {
    if (filter.takes_thread({i})) exact_ns += profile.threads[i].cpu_ns;
  }
  if (whole_time && exact_ns != 0) {
    activity.cpu_s = static_cast<double>(exact_ns) / 1e9;
    activity.exact = true;
  } else if (selection.metric == model::Metric::kCpu && profile.meta.frequency_hz != 0 &&
             tree.unit == "samples") {
    activity.cpu_s = static_cast<double>(tree.total) / profile.meta.frequency_hz;
  } else if (selection.metric == model::Metric::kCpu && tree.unit == "ns") {  // imported clock events
    activity.cpu_s = static_cast<double>(tree.total) / 1e9;
  }
  return activity;
}

std::vector<std::string> summarize(const Report& report) {
  std::vector<std::string> sentences{sentence_of_origin(report)};
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  };
  const CallTree& tree = report.tree;
  if (tree.filtered != 0) {
    add(fmt::format("The selection leaves out {}.", counted(tree.filtered, "sample")));
  }
  add(sentence_of_activity(report.activity));
  if (report.waits) {
    for (const std::string& sentence : report.waits->summary) add(sentence);
  }
  if (report.heap) {
    for (const std::string& sentence : report.heap->summary) add(sentence);
    if (report.memory) {
      for (const std::string& sentence : report.memory->summary) add(sentence);
    }
  }
  if (model::is_heap(tree.metric) && report.heap) return sentences;  // that says more than what follows
  if (tree.samples == 0) {
    add(tree.metric == model::Metric::kCpu ? "Nothing was sampled: the process used no CPU time."
                                           : "Nothing was sampled.");
    return sentences;
  }
  if (tree.effective_samples < 1000) {
    add(fmt::format(
        "That is few: with {} a share is uncertain by up to ±{} points; record longer or under load.",
        counted(static_cast<std::uint64_t>(std::llround(tree.effective_samples)), "independent sample"),
        percent_number(wilson_interval(0.5, tree.effective_samples).half_width())));
  }
  add(sentence_of_cost(report));
  add(sentence_of_threads(report));
  return sentences;
}

model::Metric default_metric(const model::Profile& profile) {
  const std::vector<model::Metric> metrics = metrics_in(profile);
  if (metrics.empty()) return model::Metric::kCpu;
  const bool only_heap = profile.samples.empty() && profile.waits.empty();
  if (!only_heap) return metrics.front();  // kCpu is the enum's first
  return default_heap_metric(profile);
}

model::Metric default_heap_metric(const model::Profile& profile) {
  return profile.heap.heaps.front().from_start ? model::Metric::kHeapPeak : model::Metric::kHeapLive;
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
  report.tree = build_call_tree(profile, tree_options);
  // A heap of which nothing is live, or nothing temporary, is an answer and no mistake.
  const bool of_heap = model::is_heap(options.selection.metric) && !profile.heap.empty();
  if (report.tree.samples == 0 && !of_heap && (!profile.samples.empty() || !profile.waits.empty())) {
    return tl::unexpected(nothing_selected(profile, options.selection));
  }
  for (const std::string& pattern : options.callers) {
    Result<Neighbours> around = find_neighbours(report.tree, pattern);
    if (!around) return tl::unexpected(around.error());
    report.callers.push_back({pattern, std::move(*around)});
  }
  for (const std::string& pattern : options.callees) {
    Result<Neighbours> around = find_neighbours(report.tree, pattern);
    if (!around) return tl::unexpected(around.error());
    report.callees.push_back({pattern, std::move(*around)});
  }
  report.functions = function_table(report.tree, options.sort);
  report.threads = thread_table(profile, options.selection);
  report.processes = process_table(profile, options.selection);
  report.modules = module_table(report.tree);
  report.series = series_table(profile, options.selection);
  report.activity = measure_activity(profile, options.selection, report.tree);
  report.quality = judge_quality(profile, report.tree, report.modules);
  if (!profile.waits.empty()) report.waits = make_wait_report(profile, options.selection);
  report.heap = make_heap_report(profile, options.selection);
  if (options.heap_by && of_heap)
    report.heap_groups = group_heap(profile, {.selection = options.selection,
                                              .by = *options.heap_by,
                                              .by_total = options.sort == SortBy::kTotal,
                                              .fold_generics = options.fold_generics});
  report.memory = make_rss_breakdown(profile, options.selection);
  if (report.heap) {
    for (const std::string& text : report.heap->findings) report.quality.findings.push_back({text, ""});
  }
  report.summary = summarize(report);
  return report;
}

}  // namespace fathom::analysis
