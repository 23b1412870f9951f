#include "present/sentences/report_sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/core/deep_stacks.h"
#include "analysis/core/prose_name.h"
#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "analysis/diff/load_evenness.h"
#include "base/stable_sort.h"
#include "model/event_samples.h"
#include "model/facts.h"
#include "model/still_recorded.h"
#include "present/sentences/heap_sentences.h"
#include "present/sentences/memory_sentences.h"
#include "present/sentences/stuck_sentences.h"
#include "present/sentences/wait_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

std::string sentence_of_origin(const Report& report) {
  const model::Meta& meta = report.profile->meta;
  const CallTree& tree = report.tree;
  std::string text = meta.target.empty() ? std::string("This profile") : printable(meta.target);
  const std::uint64_t samples = samples_in(tree);
  text += ": ";
  if (model::is_heap(tree.metric) && report.heap) {
    text += fmt::format("{} of {}", model::info_of(tree.metric).sentence,
                        counted(tree.samples, "call site", "call sites"));
  } else if (!report.activity.watched) {
    text += "no samples";
  } else if (samples != 0 || tree.waits == 0) {
    const bool of_event = tree.metric == model::Metric::kCpu && model::names_event(meta, meta.event);
    const std::string kind = of_event ? printable(meta.event)
                             : tree.waits != 0 && tree.metric == model::Metric::kWall
                                 ? "CPU"
                                 : std::string(model::info_of(tree.metric).sentence);
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
  if (tree.unit != "samples") parts.push_back(amount_of(tree, tree.total) + " in all");
  return text + (parts.empty() ? "." : fmt::format(" ({}).", fmt::join(parts, ", ")));
}

std::string sentence_of_activity(const Activity& activity) {
  if (!activity.cpus_used()) return "";
  const double used = *activity.cpus_used();
  const std::string of = activity.cpus == 0 ? "" : fmt::format(" of {}", activity.cpus);
  if (activity.idle()) {
    // Not "idle": it may have waited for a CPU, or for a disk.
    return fmt::format("It used little CPU time: {}{}, {} of one CPU.", seconds(*activity.cpu_s),
                       activity.exact ? "" : " (estimated from samples)", percent(used));
  }
  return fmt::format("It used {} of CPU time{}: {:.2f}{} CPUs on average.", seconds(*activity.cpu_s),
                     activity.exact ? "" : " (estimated from samples)", used, of);
}

// What record -e counted, and how to see where.
std::string sentence_of_events(const model::Meta& meta) {
  constexpr std::size_t kMost = 4;
  std::vector<model::RecordedEvent> events = model::recorded_events(meta);
  if (events.empty()) return "";
  stable_sort_rows(events, std::ranges::greater(), &model::RecordedEvent::count);
  std::string text = "Events: ";
  for (std::size_t i = 0; i < std::min(events.size(), kMost); ++i) {
    const model::RecordedEvent& event = events[i];
    const std::string name = printable(event.name);
    text += (i == 0 ? "" : ", ") + counted(event.count, name, name);
    if (event.unit != event.name && event.unit != "events")
      text += fmt::format(" with {}", amount(static_cast<double>(event.value), printable(event.unit)));
  }
  if (events.size() > kMost) text += fmt::format(", and {} more", events.size() - kMost);
  if (model::names_event(meta, meta.event)) return text + ".";
  return fmt::format("{}; --metric {} shows where.", text, printable(events.front().name));
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
  std::string text = fmt::format("The largest self cost is {}", printable(tree.names[top.name]));
  if (const std::string& module = tree.modules[top.module].name; !module.empty())
    text += " in " + printable(module);
  text += fmt::format(", {}", share_with_error(tree, top.self));
  if (is_noise(tree, top.self)) text += ", which is within noise";
  if (!report.modules.empty()) {
    const ModuleRow& module = report.modules.front();
    const std::string& name = tree.modules[module.module].name;
    text += fmt::format("; the largest module is {}, {}",
                        name.empty() ? "code outside all modules" : printable(name),
                        percent(share(tree, module.self)));
  }
  return text + ".";
}

// Towers of a flame graph: how tall they are, and whether a function that calls itself makes them so.
std::string sentence_of_depth(const Report& report) {
  const CallTree& tree = report.tree;
  if (tree.waits != 0 || tree.metric != model::Metric::kCpu) return "";
  const DeepStacks stacks = find_deep_stacks(tree);
  if (stacks.deepest < 2) return "";
  std::string text = fmt::format("The deepest stack has {}, down to {}; half of the samples have at most {}",
                                 counted(std::uint64_t{stacks.deepest}, "call"),
                                 spoken_name(tree.names[tree.nodes[stacks.deepest_node].name]), stacks.usual);
  constexpr double kWorthAWord = 0.01;
  if (share(tree, stacks.recursive) >= kWorthAWord)
    text += fmt::format("; {} calls itself, in {} of the samples, at most {} times in one",
                        spoken_name(tree.names[tree.nodes[stacks.recursive_node].name]),
                        share_with_error(tree, stacks.recursive), stacks.most_times);
  return text + ".";
}

// What a figure per second is worth, and whether two parts of the recording can be compared.
std::string sentence_of_load(const Report& report) {
  if (report.tree.metric != model::Metric::kCpu) return "";
  const auto uneven = unevenness_of(*report.profile, report.selection);
  if (!uneven) return "";
  constexpr double kSteady = 0.05, kUneven = 0.25;
  const std::string by = fmt::format(
      "varied by {} between twentieths of the time, more than sampling explains", percent(*uneven));
  if (*uneven < kSteady)
    return fmt::format("The load was steady: sampling explains how twentieths of the time differ, within {}.",
                       percent(kSteady));
  if (*uneven < kUneven) return fmt::format("The load {}.", by);
  return fmt::format("The load was not steady: it {}. Figures per second average over this.", by);
}

std::string sentence_of_threads(const Report& report) {
  if (report.threads.size() < 2 || report.tree.waits != 0) return "";  // who waits most is not busy
  const ThreadRow& top = report.threads.front();
  return fmt::format("The busiest of {} is {}{}, {}.", threads_in_words(report), printable(top.name),
                     top.tid == 0 ? "" : fmt::format(" (tid {})", top.tid),
                     percent(share(report.tree, top.value)));
}

}  // namespace

std::string threads_in_words(const Report& report) {
  // Imported threads have no numbers.
  const bool imported = report.profile->meta.engine == "import";
  const auto stands_for_many = [&](const ThreadRow& row) { return row.tid == 0 && !imported; };
  const auto many = std::ranges::count_if(report.threads, stands_for_many);
  const std::size_t own = report.threads.size() - static_cast<std::size_t>(many);
  if (own == 0 && many == 0) return "";
  // Rows are limited, and the number of threads that ended is not: once the program has ended, it is the number of all.
  const Selection& selected = report.selection;
  const bool takes_all =
      !selected.from_ns && !selected.to_ns && !selected.pid && !selected.thread && !selected.stacks;
  const auto ended = model::facts_of<model::SamplingFacts>(report.profile->meta).ended_threads;
  const auto end = model::facts_of<model::EndingFacts>(report.profile->meta);
  if (many > 0 && takes_all && (end.exit || end.signal) && ended.value_or(0) > own)
    return counted(*ended, "thread");
  return counted(own, "thread") + (many > 0 ? " and more" : "");
}

std::uint64_t number_of_processes(const Report& report) {
  // A process has a row for each program that it executed.
  std::set<std::int32_t> pids;
  std::uint64_t behind_shared_rows = 0;
  for (const ProcessRow& row : report.processes) {
    if (row.pid != 0 || report.profile->meta.engine == "import") {
      pids.insert(row.pid);
      continue;
    }
    // "job (1,234 processes)"
    std::uint64_t number = 0;
    for (std::size_t at = row.name.rfind('(') + 1; at < row.name.size() && row.name[at] != ' '; ++at)
      if (row.name[at] >= '0' && row.name[at] <= '9')
        number =
            std::min<std::uint64_t>(number * 10 + static_cast<unsigned>(row.name[at] - '0'), 1'000'000'000);
    behind_shared_rows += std::max<std::uint64_t>(number, 1);
  }
  return pids.size() + behind_shared_rows;
}

std::string unsampled_sentence(const model::Unsampled& unsampled, bool with_reason) {
  const std::string why = !with_reason            ? ""
                          : unsampled.why.empty() ? ": the cause is unknown"
                                                  : ": " + printable(unsampled.why);
  if (unsampled.all)
    return fmt::format("The target used {} of CPU time and could not be sampled{}.", seconds(unsampled.cpu_s),
                       why);
  return fmt::format("{} of the target's CPU time ({}) could not be sampled{}.", seconds(unsampled.cpu_s),
                     percent(unsampled.share), why);
}

std::string sentence_of_nothing(const Report& report) {
  if (report.tree.metric != model::Metric::kCpu) return "Nothing was sampled.";
  const Activity& activity = report.activity;
  // A recorder that was killed at once kept neither samples nor how much CPU time there was.
  if (model::is_still_recorded(*report.profile) && !activity.exact)
    return "The recording is still running; its file has no samples yet.";
  if (report.profile->quality.truncated && !activity.exact)
    return report.profile->threads.empty()
               ? "The file ends before its first samples, so it is unknown what the program did."
               : "The file ends before its first samples, so the CPU time used is unknown.";
  if (!activity.watched)
    return "The recording has neither CPU samples nor waits, so it does not show what the program did.";
  if (!activity.cpu_s) return "Nothing was sampled, and the CPU time of the target is unknown.";
  if (!activity.exact || !(activity.cpu_s.value_or(0) > 0))
    return "Nothing was sampled: it used no CPU time.";
  if (report.unsampled) return unsampled_sentence(*report.unsampled);
  return fmt::format("Nothing was sampled, of {} of CPU time at {} Hz.", seconds(*activity.cpu_s),
                     report.profile->meta.frequency_hz);
}

std::vector<std::string> sentences_of(const Report& report) {
  std::vector<std::string> sentences{sentence_of_origin(report)};
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  };
  const CallTree& tree = report.tree;
  if (tree.filtered != 0) {
    add(fmt::format("The selection leaves out {}.", counted(tree.filtered, "sample")));
  }
  for (StuckSentence& sentence : stuck_sentences(report)) add(std::move(sentence.text));
  add(unended_sentence(report));
  add(sentence_of_activity(report.activity));
  add(sentence_of_events(report.profile->meta));
  if (report.waits) {
    for (const std::string& sentence : sentences_of(*report.waits)) add(sentence);
  }
  if (report.heap) {
    for (const std::string& sentence : sentences_of(*report.heap)) add(sentence);
    if (report.memory) {
      for (const std::string& sentence : sentences_of(*report.memory)) add(sentence);
    }
  }
  if (model::is_heap(tree.metric) && report.heap) return sentences;  // that says more than what follows
  if (tree.samples == 0) {
    add(sentence_of_nothing(report));
    return sentences;
  }
  if (tree.effective_samples < 1000) {
    add(fmt::format(
        "That is few: with {}, a share is uncertain by up to ±{} points; record longer or under load.",
        counted(static_cast<std::uint64_t>(std::llround(tree.effective_samples)), "independent sample"),
        percent_number(wilson_interval(0.5, tree.effective_samples).half_width())));
  }
  add(sentence_of_load(report));
  add(sentence_of_cost(report));
  add(sentence_of_depth(report));
  add(sentence_of_threads(report));
  return sentences;
}

}  // namespace fathom::present
