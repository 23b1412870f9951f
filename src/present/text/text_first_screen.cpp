#include "present/text/text_first_screen.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/prose_name.h"
#include "analysis/core/words.h"
#include "model/exact_count.h"
#include "present/sentences/hot_spot_sentences.h"
#include "present/sentences/left_sentences.h"
#include "present/sentences/limit_sentences.h"
#include "present/sentences/memory_summary_sentences.h"
#include "present/sentences/problem_sentences.h"
#include "present/sentences/quality_sentences.h"
#include "present/sentences/recorded_component_sentences.h"
#include "present/sentences/resource_sentences.h"
#include "present/sentences/selection_sentences.h"
#include "present/sentences/stuck_sentences.h"
#include "present/sentences/wait_sentences.h"
#include "present/sentences/waiting_sentence.h"
#include "present/text/terminal_style.h"
#include "present/text/text_heap.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::HotFrame;

std::string bold(const std::string& text, const TextOptions& options) {
  return options.color ? in_bold(text) : text;
}

std::string paragraph(const std::string& text, const TextOptions& options) {
  return text.empty() ? "" : fill("", text, options.width, 2);
}

std::string heap_text(const analysis::Report& report, const TextOptions& options) {
  std::string text;
  for (const std::string& sentence : paragraphs_of_heap(report)) text += paragraph(sentence, options);
  return text;
}

// The first parts of "own code 3 % · kernel 86 % · libc 5 %", as many as there is room for.
std::string without_the_last(std::string parts, std::size_t width) {
  constexpr std::string_view kJoint = " · ";
  while (display_width(parts) > width && parts.rfind(kJoint) != parts.npos) parts.resize(parts.rfind(kJoint));
  return keep_tail(parts, width);
}

bool is_waiting(analysis::ProblemKind kind) {
  using analysis::ProblemKind;
  return kind == ProblemKind::kIdle || kind == ProblemKind::kLocks || kind == ProblemKind::kDisk ||
         kind == ProblemKind::kPeers || kind == ProblemKind::kSleep || kind == ProblemKind::kUnended;
}

// What does not go on comes first, each with the threads that it is about.
std::string stuck_text(const analysis::Report& report, const TextOptions& options) {
  std::string out;
  for (const StuckSentence& sentence : stuck_sentences(report)) {
    out += paragraph(sentence.text, options);
    for (const std::string& line : sentence.lines) out += fill("  ", line, options.width, 4);
  }
  return out;
}

std::string where_text(const HotFrame& frame) {
  std::string where = place_text(frame.place, frame.name);
  if (where.empty() && frame.kind != analysis::NodeKind::kThread)
    where = frame.kind == analysis::NodeKind::kKernel ? "kernel" : analysis::short_module(frame.module);
  if (frame.recursions > 0)
    where += fmt::format("{}{} deep", where.empty() ? "" : ", ", frame.recursions + 1);
  constexpr std::size_t kMostWhere = 40;
  return keep_tail(where, kMostWhere);
}

// The widest chain of calls, a line each, indented as they call each other.
std::string hot_path_text(const analysis::Report& report, const TextOptions& options) {
  const std::vector<HotFrame>& frames = report.hot_path.frames;
  if (frames.empty()) return "";
  // Where the terminal is wide enough for it and the names.
  const bool has_bars = options.color && (options.width == 0 || options.width >= 90);
  std::vector<TextTable::Column> columns{
      {"total", Align::kRight}, {"self", Align::kRight}, {"hot path", Align::kLeft, true}, {"where"}};
  if (has_bars) columns.insert(columns.begin() + 1, {""});
  TextTable table(std::move(columns));
  const auto share = [&](std::int64_t value) { return rounded_percent(analysis::share(report.tree, value)); };
  std::size_t widest_where = 0;
  for (const HotFrame& frame : frames)
    widest_where = std::max(widest_where, display_width(where_text(frame)));
  constexpr std::size_t kBar = 8;
  const std::size_t numbers = 18 + (has_bars ? kBar + 2 : 0);  // columns of all of them, and all gaps
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const HotFrame& frame = frames[i];
    const bool is_inlined = frame.kind == analysis::NodeKind::kInlined;
    const std::size_t indent = std::min<std::size_t>(i, 7);
    std::string name = i == 0 ? "" : std::string(indent - 1, ' ') + "└ ";
    const std::size_t taken = numbers + widest_where + indent + 1 + (is_inlined ? 10 : 0);
    const std::size_t room =
        table_width(options) == 0 ? SIZE_MAX : std::max<std::size_t>(options.width, 80) - taken;
    name += frame.kind == analysis::NodeKind::kThread ? "thread " + analysis::printable(frame.name)
                                                      : shorten_name(analysis::prose_name(frame.name), room);
    if (is_inlined) name += " (inlined)";
    const double self = analysis::share(report.tree, frame.self);
    std::vector<std::string> cells{
        share(frame.total), self >= 0.01 ? share(frame.self) : "", name,
        options.color ? linked_place(where_text(frame), frame.place.path) : where_text(frame)};
    if (has_bars) cells.insert(cells.begin() + 1, share_bar(analysis::share(report.tree, frame.total), kBar));
    table.add(std::move(cells), !frame.own);
  }
  return "\n" + table.text(table_width(options), false);
}

}  // namespace

std::string summary_line(const analysis::Report& report, const TextOptions& options) {
  const std::string text = headline_of(report);
  const std::string left = left_line(*report.profile);
  const std::string first = left.empty() ? "" : fill("", left, options.width, 2);
  return first + (options.width != 0 && display_width(text) > options.width ? fill("", text, options.width, 2)
                                                                            : bold(text, options) + "\n");
}

std::string quality_line(const analysis::Report& report, const TextOptions& options) {
  std::string out = fill("Quality: ", quality_sentence(report), options.width, 2);
  std::vector<Complaint> complaints = complaints_of(report);
  const std::size_t doubtful =
      std::erase_if(complaints, [](const Complaint& complaint) { return !complaint.is_certain; });
  constexpr std::size_t kMost = 2;
  for (std::size_t i = 0; i < std::min(kMost, complaints.size()); ++i) {
    out += fill("  ! ", complaints[i].text, options.width, 4);
    if (!complaints[i].remedy.empty()) out += fill("    try: ", complaints[i].remedy, options.width, 9);
  }
  const std::size_t notes = report.profile->quality.notes.size();
  if (complaints.size() <= kMost && notes > 0)
    out += fmt::format("  {} about the recording: --all\n", analysis::counted(notes, "note"));
  if (doubtful > 0)
    out += fmt::format("  {} of few samples, which may be chance: --all\n",
                       analysis::counted(doubtful, "finding"));
  if (complaints.size() > kMost) out += fmt::format("  ! {} more: --all\n", complaints.size() - kMost);
  return out;
}

std::string closing_text(const analysis::Report& report, const TextOptions& options) {
  const analysis::ProblemClass problem = analysis::classify(report);
  const std::string sentence = sentence_of(problem);
  const std::string resources = short_sentence_of_resources(report);
  std::string out =
      sentence.empty() && resources.empty()
          ? ""
          : fill("Class: ", (sentence.empty() ? "unknown" : sentence) + resources + ".", options.width, 2);
  std::string text = "next:";
  std::size_t used = display_width(text);
  for (const std::string& command :
       next_commands(report, problem, options.file.empty() ? "FILE" : options.file)) {
    if (options.layout == Layout::kAll && command.ends_with(" --all")) continue;  // this is it
    used += 4 + display_width(command);
    if (options.width != 0 && used > options.width && text != "next:") break;
    text += (text == "next:" ? " " : "    ") + command;
  }
  return out + (text == "next:" ? "" : text + "\n");
}

namespace {

constexpr double kTooFew = 10, kFew = 200, kEnough = 1000;  // samples

std::string sentence_of_cpu(const analysis::Report& report, const std::string& little, bool too_few) {
  if (!little.empty()) return little + (too_few ? "" : " " + sentence_of_hot_spot(report));
  if (!too_few) return sentence_of_hot_spot(report);
  // A line of folded stacks stands for several.
  const std::uint64_t samples = report.tree.unit == "samples" && report.tree.total > 0
                                    ? static_cast<std::uint64_t>(report.tree.total)
                                    : report.tree.samples;
  return fmt::format("{} of CPU time {} too few to attribute: record longer or under load.",
                     analysis::counted(samples, "sample"), samples == 1 ? "is" : "are");
}

std::string sentence_of_few(const analysis::CallTree& tree) {
  if (tree.effective_samples >= kEnough) return "";
  const double error = analysis::wilson_interval(0.5, tree.effective_samples).half_width();
  return fmt::format("With so few samples a share is uncertain by up to ±{:.0f} points{}.", error * 100,
                     tree.effective_samples < kFew ? ": record longer or under load" : "");
}

}  // namespace

namespace {

bool found_leak(const analysis::Report& report) {
  return report.heap && std::ranges::any_of(report.heap->verdicts, [](const auto& verdict) {
           return verdict.kind == analysis::HeapVerdictKind::kLeak &&
                  verdict.confidence != analysis::Confidence::kLow;
         });
}

// How much of a report on CPU time means something.
struct CpuWorth {
  explicit CpuWorth(const analysis::Report& report)
      : of_cpu(report.tree.metric == model::Metric::kCpu && report.tree.total > 0),
        too_few(of_cpu && !model::counts_all(*report.profile) && report.tree.effective_samples < kTooFew),
        little(of_cpu && report.waits ? sentence_of_little_cpu(report) : "") {}
  bool of_cpu, too_few;
  std::string little;
};

}  // namespace

namespace {

// What holders of locks do while others wait for them. It is the answer if it delays threads for much of the time, whatever the rest
// of the program does; a little of it is worth a sentence further below.
struct LockHolder {
  explicit LockHolder(const analysis::Report& report) {
    constexpr double kWorthSaying = 0.05, kTheAnswer = 0.3;  // of the recording's length
    if (!report.waits) return;
    const auto delay = analysis::find_holder_delay(*report.profile, report.selection);
    const double share = delay ? share_of_time(*delay, *report.waits) : 0;
    if (share < kWorthSaying) return;
    text = sentence_of(*delay);
    is_answer = share >= kTheAnswer;
  }
  std::string text;
  bool is_answer = false;
};

}  // namespace

// Of a program in Go that waits, or whose goroutines are known to queue.
static std::string goroutines_of(const analysis::Report& report, bool mostly_waits) {
  if (!report.waits) return "";
  const auto locks = analysis::find_go_locks(*report.profile, report.selection);
  return locks && (mostly_waits || !locks->site.empty()) ? sentence_of(*locks) : "";
}

std::string first_sentence(const analysis::Report& report) {
  if (const auto stuck = stuck_sentences(report); !stuck.empty()) return stuck.front().text;
  if (resources_come_first(report)) return sentence_of_resources(report);
  if (std::string unended = unended_sentence(report); !unended.empty()) return unended;
  if (found_leak(report)) return sentence_of_heap(report);
  if (const LockHolder holder(report); holder.is_answer) return holder.text;
  if (is_waiting(analysis::classify(report).kind)) {
    const std::string goroutines = goroutines_of(report, true);
    return sentence_of_waiting(report) + (goroutines.empty() ? "" : " " + goroutines);
  }
  const CpuWorth worth(report);
  return sentence_of_cpu(report, worth.little, worth.too_few);
}

std::string first_screen_text(const analysis::Report& report, const TextOptions& options) {
  std::string out = summary_line(report, options);
  out += paragraph(sentence_of_selection(report.selection, report.tree, report.whole), options);
  // Of a program that waits, the little that it computes is no answer.
  const bool mostly_waits = is_waiting(analysis::classify(report).kind);
  std::string sentences = stuck_text(report, options);
  const bool resources_first = resources_come_first(report);
  if (resources_first) sentences += paragraph(sentence_of_resources(report), options);
  sentences += paragraph(unended_sentence(report), options);
  const LockHolder holder(report);
  if (holder.is_answer) sentences += paragraph(holder.text, options);
  if (mostly_waits) sentences += paragraph(sentence_of_waiting(report), options);
  sentences += paragraph(goroutines_of(report, mostly_waits), options);
  // Nor is it where a leak was found.
  const bool leaks = found_leak(report);
  if (leaks) sentences = heap_text(report, options) + sentences;
  const auto& [of_cpu, too_few, little] = CpuWorth(report);
  std::string of_cpu_time = sentence_of_cpu(report, little, too_few);
  const std::string allocators = of_cpu && !too_few ? sentence_of_allocator_cpu(report) : "";
  const std::string runtimes = of_cpu && !too_few ? sentence_of_runtime_costs(report) : "";
  for (const std::string& sentence : {runtimes, allocators})
    if (!sentence.empty()) of_cpu_time += " " + sentence;
  sentences += paragraph(
      options.color ? with_bold_names(of_cpu_time, subjects_of_hot_spot(report)) : of_cpu_time, options);
  if (of_cpu && !too_few && little.empty()) sentences += paragraph(sentence_of_few(report.tree), options);
  if (!sentences.empty()) out += "\n" + sentences;
  // The chain of calls of what hardly ran would stand there as if it were what to look at.
  if (std::string path = too_few || !little.empty() ? "" : hot_path_text(report, options); !path.empty()) {
    out += path;
    out += "\n  " +
           without_the_last(modules_line(report), options.width == 0 ? SIZE_MAX : options.width - 2) + "\n";
  }
  std::string rest;
  for (const std::string& sentence :
       {holder.is_answer ? "" : holder.text, mostly_waits ? "" : sentence_of_waiting(report),
        report.waits ? async_task_sentence(*report.waits) : "", sentence_of_resident(report),
        resources_first ? "" : sentence_of_resources(report), recorded_component_headline(*report.profile)})
    rest += paragraph(sentence, options);
  if (!leaks) rest += heap_text(report, options);
  rest += paragraph(limits_line(*report.profile), options);
  if (report.heap && report.tree.metric != model::Metric::kCpu) {
    TextOptions few = options;
    few.top = 8;
    rest += heap_functions_text(*report.heap, few);
  }
  if (!rest.empty()) out += "\n" + rest;
  out += (rest.empty() ? "\n" : "") + quality_line(report, options);
  return out + closing_text(report, options);
}

}  // namespace fathom::present
