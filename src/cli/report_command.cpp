// fathom report: what a recording says, as text or JSON.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/annotate/annotation.h"
#include "analysis/core/printable_json.h"
#include "analysis/spans/span_report.h"
#include "analysis/summary/call_table.h"
#include "analysis/summary/report.h"
#include "analysis/summary/system_call_table.h"
#include "attach/allocators/statistics/statistics.h"
#include "base/files.h"
#include "base/output_file.h"
#include "cli/annotate_options.h"
#include "cli/command.h"
#include "cli/follow_dumps.h"
#include "cli/newest_recording.h"
#include "cli/notices.h"
#include "cli/number_word.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/output_kind.h"
#include "cli/section_options.h"
#include "cli/selection_options.h"
#include "formats/open/open_profile.h"
#include "present/code/annotation_json.h"
#include "present/code/annotation_text.h"
#include "present/json/call_table_json.h"
#include "present/json/json.h"
#include "present/json/spans_json.h"
#include "present/json/system_calls_json.h"
#include "present/sentences/recorded_component_sentences.h"
#include "present/statistics/statistics_report.h"
#include "present/text/text_call_table.h"
#include "present/text/text_first_screen.h"
#include "present/text/text_report.h"
#include "present/text/text_spans.h"
#include "present/text/text_system_calls.h"
#include "present/text/text_table.h"
#include "present/text/text_timeline.h"
#include "tools/flight/death_text.h"
#include "tools/flight/living_marks.h"

namespace fathom::cli {
namespace {

using analysis::Section;

struct ReportArguments {
  std::string file;
  SelectionOptions selection;
  analysis::ReportOptions report;
  std::optional<std::size_t> top;
  std::string sort;
  std::string by;
  std::string subsystems;  // file of rules
  std::vector<std::string> annotate;
  std::string tree;  // callees or callers; empty: not asked for
  std::optional<double> percent_limit;
  OutputPath output;
  std::string color = "auto";
  SectionArguments sections;
  bool system_calls = false;
  bool all = false, show_idle = false, json = false, wide = false, follow = false;
  bool has(Section section) const { return sections.has(section); }
};

// The input as the commands that the report names take it: a stretch of a store is one word.
std::string input_word(const ReportArguments& arguments) {
  const std::string& file = arguments.file;
  std::error_code problem;
  if (!std::filesystem::is_directory(file.substr(0, file.rfind('?')), problem)) return file;
  std::string word = file;
  const auto add = [&](const char* key, const std::string& value) {
    if (value.empty() || word.find(key) != word.npos) return;
    word += (word.find('?') == word.npos ? "?" : "&") + (key + value);
  };
  add("target=", arguments.selection.store_target);
  add("from=", arguments.selection.from.mark);
  add("until=", arguments.selection.until.mark);
  return word;
}

present::TextOptions style_of(const ReportArguments& arguments) {
  present::TextOptions style;
  style.width = arguments.wide ? 0 : output_width();
  style.cut_names = arguments.output.path.empty() && output_is_narrow();
  style.color = output_has_color(arguments.color, arguments.output);
  return style;
}

Result<int> report_timeline(const model::Profile& profile, const analysis::Selection& selection,
                            const ReportArguments& arguments) {
  const present::TextOptions style = style_of(arguments);
  analysis::TimelineOptions options;
  options.selection = selection;
  options.columns = present::timeline_columns(style);
  if (!arguments.by.empty() && !analysis::timeline_by_from(arguments.by))
    return fail(ErrorKind::kUsage, "--timeline cannot show '" + arguments.by + "' apart",
                "--by function, module, thread, allocator");
  options.by = analysis::timeline_by_from(arguments.by).value_or(options.by);
  const std::optional<analysis::HeapTimeline> timeline = analysis::make_heap_timeline(profile, options);
  if (!timeline)
    return fail(ErrorKind::kNotFound, arguments.file + ": the heap was not recorded", "fathom record --heap");
  std::string text = present::heap_timeline_text(*timeline, style);
  analysis::ReportOptions report_options;
  report_options.selection = selection;
  // Nothing but the heap may have been recorded, or selected.
  if (const Result<analysis::Report> report = analysis::make_report(profile, report_options)) {
    text = present::summary_line(*report, style) + text + "\n" + present::quality_line(*report, style);
  } else {
    text.erase(0, 1);
  }
  return end_with_output(text, arguments.output);
}

// A table as text or JSON, with as many rows as --top says; JSON has all of them by default.
template <class ToJson, class ToText>
Result<int> write_table(const ReportArguments& arguments, const ToJson& to_json, const ToText& to_text) {
  present::TextOptions style = style_of(arguments);
  style.top = arguments.top.value_or(style.top);
  return end_with_output(arguments.json ? to_json(arguments.top.value_or(0)) : to_text(style),
                         arguments.output);
}

// Of functions that were probed.
Result<int> report_calls(const model::Profile& profile, const analysis::Selection& selection,
                         const ReportArguments& arguments) {
  if (selection.thread)
    return fail(ErrorKind::kUsage, "calls are counted for whole processes, not for threads", "--pid PID");
  const auto table = analysis::make_call_table(profile, selection);
  if (!table)
    return fail(ErrorKind::kNotFound, arguments.file + ": no function was probed",
                "fathom record --probe FUNCTION");
  return write_table(
      arguments,
      [&](std::size_t top) {
        return present::to_json(*table, profile.meta.target, profile.duration_s(), top);
      },
      [&](const present::TextOptions& style) { return present::call_table_text(*table, style); });
}

Result<int> report_system_calls(const model::Profile& profile, const analysis::Selection& selection,
                                const ReportArguments& arguments) {
  const auto table = analysis::make_system_call_table(profile, selection);
  if (!table)
    return fail(ErrorKind::kNotFound, arguments.file + ": system calls were not counted",
                "fathom record --syscalls -p PID; --waits shows the calls that waited");
  if (table->calls.empty() && (selection.from_ns || selection.to_ns))
    return fail(ErrorKind::kNotFound,
                arguments.file +
                    ": fathom counts system calls once a second, and the selected time has no such moment",
                "a longer time: --from and --until, in whole seconds");
  return write_table(
      arguments,
      [&](std::size_t top) {
        return present::to_json(*table, profile.meta.target, profile.duration_s(), top);
      },
      [&](const present::TextOptions& style) { return present::system_calls_text(*table, style); });
}

Result<int> report_spans(const model::Profile& profile, const analysis::Selection& selection,
                         const ReportArguments& arguments) {
  const analysis::SpanReport report = analysis::make_span_report(profile, selection);
  if (report.kinds.empty() && profile.spans.empty())
    return fail(ErrorKind::kNotFound, arguments.file + ": no spans were recorded",
                "fathom report --spans FILE reads them from marker files or traces");
  return write_table(
      arguments, [&](std::size_t top) { return present::to_json(report, profile.meta.target, top); },
      [&](const present::TextOptions& style) { return present::spans_text(report, style); });
}

// Source and machine code of a function, of the files of this machine.
Result<int> report_annotation(const model::Profile& profile, const analysis::Selection& selection,
                              const ReportArguments& arguments) {
  const present::TextOptions style = style_of(arguments);
  std::string text;
  for (const std::string& pattern : arguments.annotate) {
    const Result<annotate::Annotation> annotation =
        annotate::annotate(profile, selection, annotate_options(pattern, arguments.selection.symbols));
    if (!annotation) return within(arguments.file, annotation.error());
    if (!text.empty()) text += "\n";
    text += arguments.json ? present::to_json(*annotation)
                           : present::annotation_text(*annotation, style, arguments.percent_limit != 0.0);
  }
  return end_with_output(text, arguments.output);
}

// What is asked for by an option stands first and alone; a bare report is the answer in one screen.
present::Layout layout_of(const ReportArguments& arguments) {
  if (arguments.all) return present::Layout::kAll;
  const bool asked = !arguments.sections.sections.empty() || arguments.top || !arguments.sort.empty() ||
                     !arguments.by.empty() || !arguments.subsystems.empty() ||
                     !arguments.selection.metric.empty() || !arguments.report.callers.empty() ||
                     !arguments.report.callees.empty();
  return asked ? present::Layout::kAsked : present::Layout::kFirstScreen;
}

bool has_metric(const model::Profile& profile, model::Metric metric) {
  const std::vector<model::Metric> metrics = analysis::metrics_in(profile);
  return std::ranges::find(metrics, metric) != metrics.end();
}

// How the program died, or what the flight recorder noticed of one that lives on, stands before everything else about it.
std::string with_death(std::string text, const model::Profile& profile, const ReportArguments& arguments,
                       std::size_t width) {
  const auto death = flight::death_of(profile);
  if (!death && !profile.meta.facts.contains(flight::kMarksFact)) return text;
  if (arguments.json) {
    auto json = nlohmann::ordered_json::parse(text, nullptr, false);
    if (json.is_discarded()) return text;
    if (death)
      flight::add_death(json, *death);
    else
      flight::add_marks(json, profile);
    return analysis::printable_json(
        json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }
  if (layout_of(arguments) == present::Layout::kAsked) return text;
  // What a user ends by a signal needs no explanation.
  if (!death || death->verdict == flight::Verdict::kSignal)
    return flight::with_marks(std::move(text), profile, width);
  return flight::with_death(std::move(text), *death, width);
}

// What the program's own metrics say about its memory, if they were recorded.
std::string components_text(const model::Profile& profile, const present::TextOptions& style) {
  const std::vector<std::string> sentences = present::recorded_component_sentences(profile);
  if (sentences.empty()) return "";
  const std::string_view title = "What the program's metrics say about its memory";
  std::string text = style.color ? fmt::format("\n\x1b[1m{}\x1b[0m\n", title) : fmt::format("\n{}\n", title);
  for (const std::string& sentence : sentences) text += present::fill("  ", sentence, style.width, 4);
  return text;
}

// No profile, but what an allocator printed of itself.
Result<int> report_statistics(const std::string& text, const ReportArguments& arguments) {
  const std::vector<allocators::Statistics> all = allocators::read_statistics(text);
  const present::TextOptions style = style_of(arguments);
  return end_with_output(arguments.json ? present::statistics_json(all)
                                        : present::statistics_text(all, style.width, style.color,
                                                                   arguments.top.value_or(style.top)),
                         arguments.output);
}

// No table but that of functions is asked for: a bare order, metric or number of rows.
bool asks_for_functions(const ReportArguments& arguments) {
  return arguments.sections.sections.is_within({Section::kFunctions, Section::kLines}) &&
         arguments.report.callers.empty() && arguments.report.callees.empty();
}

// Why a section cannot be printed.
Error not_there(const std::string& file, Section section) {
  if (section == Section::kHeap)
    return {ErrorKind::kNotFound, file + ": the heap was not recorded", "fathom record --heap"};
  if (section == Section::kMemory)
    return {ErrorKind::kNotFound, file + ": the parts of memory were not recorded",
            "fathom record, without --no-memory"};
  return {ErrorKind::kNotFound, file + ": waiting was not recorded",
          "fathom record --off-cpu, on a machine where fathom doctor finds it possible"};
}

Result<int> run_report(const ReportArguments& given) {
  ReportArguments arguments = given;
  if (auto fitting =
          fits_ending(arguments.output.path, arguments.json ? OutputKind::kJson : OutputKind::kText);
      !fitting)
    return tl::unexpected(fitting.error());
  if (auto chosen = choose_sections(arguments.sections); !chosen) return tl::unexpected(chosen.error());
  if (!arguments.subsystems.empty()) {
    constexpr std::size_t kMostBytes = 1 << 20;
    const Result<std::string> text = read_file(arguments.subsystems, kMostBytes);
    if (!text) return tl::unexpected(text.error());
    auto subsystems = analysis::Subsystems::parse(*text, arguments.subsystems);
    if (!subsystems) return tl::unexpected(subsystems.error());
    arguments.report.subsystems = std::move(*subsystems);
  }
  arguments.sections.sections.add(Section::kTree, !arguments.tree.empty());
  if (arguments.has(Section::kTree) && arguments.tree.empty()) arguments.tree = "callees";
  take_recording(arguments.selection.spans, arguments.file);
  if (auto chosen = choose_input(arguments.file); !chosen) return tl::unexpected(chosen.error());
  constexpr std::size_t kMostBlocks = 1'000'000;
  const std::size_t top_blocks = arguments.top.value_or(20);
  const std::size_t keep =
      arguments.has(Section::kBlocks) ? std::min(top_blocks == 0 ? kMostBlocks : top_blocks, kMostBlocks) : 0;
  if (arguments.has(Section::kTimeline) || arguments.follow)
    arguments.selection.dumps.initial.kind = dumps::Merge::Kind::kAll;
  if (arguments.follow)
    if (const Result<> followed = follow_dumps(arguments.file, arguments.selection); !followed)
      return tl::unexpected(followed.error());
  std::string statistics;
  arguments.selection.statistics = &statistics;
  const Result<model::Profile> profile =
      open_selected(arguments.file, arguments.selection, static_cast<std::uint32_t>(keep));
  if (!statistics.empty()) return report_statistics(statistics, arguments);
  if (!profile) return tl::unexpected(profile.error());
  analysis::ReportOptions options = arguments.report;
  Result<analysis::Selection> selection = selection_from(arguments.selection, *profile);
  if (!selection) return tl::unexpected(selection.error());
  options.selection = std::move(*selection);
  if (arguments.has(Section::kTimeline) && !arguments.selection.from.given())
    options.selection.from_ns.reset();
  if (!arguments.annotate.empty()) return report_annotation(*profile, options.selection, arguments);
  if (arguments.selection.spans.asked && arguments.selection.spans.name.empty())
    return report_spans(*profile, options.selection, arguments);
  if (arguments.system_calls) return report_system_calls(*profile, options.selection, arguments);
  if (arguments.has(Section::kCalls)) return report_calls(*profile, options.selection, arguments);
  if (arguments.has(Section::kTimeline)) return report_timeline(*profile, options.selection, arguments);
  options.selection.fold_idle = !arguments.show_idle;
  // Nothing waits in itself: the leaves of such stacks are causes, and they have a table of their own.
  const bool waiting =
      options.selection.metric == model::Metric::kOffCpu || options.selection.metric == model::Metric::kWall;
  // Grouping a recording of the heap means the heap, unless another metric is given.
  const bool grouping_heap = model::is_heap(options.selection.metric) ||
                             (arguments.selection.metric.empty() && !profile->heap.empty());
  if (const auto by = analysis::group_by_from(arguments.by);
      by && (!grouping_heap || arguments.by == "file" || arguments.by == "process")) {
    options.group_by = by;
  } else if (arguments.has(Section::kLines)) {
    options.group_by = analysis::GroupBy::kLine;
  } else if (!arguments.by.empty() && (grouping_heap || arguments.by != "function")) {
    if (profile->heap.empty())
      return fail(ErrorKind::kNotFound, arguments.file + ": the heap was not recorded",
                  "fathom record --heap");
    if (arguments.selection.metric.empty())
      options.selection.metric = analysis::default_heap_metric(*profile);
    if (!model::is_heap(options.selection.metric))
      return fail(ErrorKind::kUsage, fmt::format("--by {} groups the heap", arguments.by),
                  "--metric heap-live, heap-allocated, ...; other metrics: --by crate, module, thread, file");
    options.heap_by = analysis::heap_grouping_from(arguments.by);
  }
  // The table of the heap has what is live first, in bytes. Who names another metric, unit or order wants to see where that comes
  // from.
  const bool named =
      (!arguments.selection.metric.empty() && options.selection.metric != model::Metric::kHeapLive) ||
      !arguments.selection.heap_unit.empty() || !arguments.sort.empty();
  const bool other_heap_table = named && model::is_heap(options.selection.metric);
  const bool grouped = options.group_by || options.subsystems;
  if (other_heap_table && !arguments.all && asks_for_functions(arguments) && !grouped && !options.heap_by &&
      !profile->heap.empty())
    options.heap_by = analysis::HeapGrouping::kFunction;
  const bool by_total = arguments.sort.empty() ? waiting : arguments.sort == "total";
  options.sort = by_total ? analysis::SortBy::kTotal : analysis::SortBy::kSelf;
  if (!arguments.tree.empty())
    options.tree =
        arguments.tree == "callers" ? analysis::TreeDirection::kCallers : analysis::TreeDirection::kCallees;
  if (arguments.percent_limit) options.least_share = *arguments.percent_limit / 100;
  const Result<analysis::Report> report = analysis::make_report(*profile, options);
  if (!report) return within(arguments.file, report.error());

  if (const auto missing = analysis::not_recorded(*report, arguments.sections.sections))
    return tl::unexpected<Error>(not_there(arguments.file, *missing));
  std::string text;
  if (arguments.json) {
    text = present::to_json(*report, arguments.top.value_or(0), sections_of_json(arguments.sections));
  } else {
    present::TextOptions style = style_of(arguments);
    style.top = arguments.top.value_or(style.top);
    style.sections = arguments.sections.sections;
    style.heap_by_itself =
        options.heap_by && arguments.selection.metric.empty() && has_metric(*profile, model::Metric::kCpu);
    style.least_share = arguments.percent_limit.value_or(0) / 100;
    style.sections.add(Section::kSeries, arguments.all);
    style.file = input_word(arguments);
    style.layout = layout_of(arguments);
    // Imported off-CPU times have no waits to report, so their functions are the answer.
    if (waiting && profile->waits.empty() && style.layout == present::Layout::kFirstScreen)
      style.layout = present::Layout::kAsked;
    style.sections.add(Section::kFunctions, asks_for_functions(arguments) && !grouped);
    text = present::report_text(*report, style);
    if (arguments.has(Section::kMemory) || arguments.all) text += components_text(*profile, style);
  }
  text = with_death(std::move(text), *profile, arguments, arguments.wide ? 0 : output_width());
  return end_with_output(text, arguments.output);
}

std::string report_beside(const std::string& recording) {
  return std::filesystem::path(recording).replace_extension(".txt").string();
}

}  // namespace

Result<> print_first_screen(const std::string& recording) {
  ReportArguments arguments;
  arguments.file = recording;
  const Result<int> printed = run_report(arguments);
  if (!printed) return tl::unexpected(printed.error());
  return {};
}

Result<> may_write_report(const std::string& recording, bool force) {
  const std::string path = report_beside(recording);
  if (identity_of(path) == FileIdentity{}) return {};
  auto file = OutputFile::open(path, {.force = force});  // not published: nothing changes
  if (!file) return tl::unexpected(file.error());
  return {};
}

Result<std::string> write_report(const std::string& recording, bool force) {
  ReportArguments arguments;
  arguments.file = recording;
  arguments.all = true;
  arguments.output = {report_beside(recording), force};
  const Result<int> written = run_report(arguments);
  if (!written) return tl::unexpected(written.error());
  return arguments.output.path;
}

Run add_report(CLI::App& app) {
  auto arguments = std::make_shared<ReportArguments>();
  app.add_option("file", arguments->file, "recording or another tool's file; default: newest here")
      ->type_name("FILE");
  add_dump_inputs(app, arguments->selection.dumps);
  begin_group(app, kTablesGroup);
  app.add_flag("--all", arguments->all, "all sentences, quality, functions and series");
  app.add_flag("--tree{callees}", arguments->tree, "call tree; --tree=callers: from the leaves")
      ->check(CLI::IsMember({"callees", "callers"}));
  const auto takes_functions = [&app](const char* name, std::vector<std::string>& patterns,
                                      const char* text) {
    app.add_option(name, patterns, text)
        ->type_name("FN")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  takes_functions("--callers", arguments->report.callers, "who calls FN: name, part of one, or /regex/");
  takes_functions("--callees", arguments->report.callees, "what FN calls");
  takes_functions("--annotate", arguments->annotate, "source and machine code of FN, with costs");
  app.add_option("--by", arguments->by, "one row per function, crate (or namespace), module and so on")
      ->check(CLI::IsMember(
          {"stack", "function", "module", "crate", "thread", "process", "file", "size", "allocator"}))
      ->type_name("WHAT");
  add_section_options(app, arguments->sections);
  add_selection_options(app, arguments->selection);
  add_cut_options(app, arguments->selection);
  begin_group(app, kOutputGroup);
  app.add_flag("--json", arguments->json, "print JSON (docs/report-json.md)");
  add_output_options(app, arguments->output, "file (default: standard output)");
  add_color_option(app, arguments->color);
  begin_group(app, kRareGroup);
  add_time_option(app, "--to", arguments->selection.until, "")->group(kHidden);
  add_rare_section_options(app, arguments->sections);
  app.add_option("--subsystems", arguments->subsystems,
                 "one row per part of the program, by rules in this file (docs/reports.md)")
      ->excludes("--by")
      ->type_name("FILE");
  app.add_flag(
      "--syscalls", arguments->system_calls,
      "system calls by thread, with times, errors, callers and bytes by file (recorded with --syscalls)");
  app.add_option("--top", arguments->top, "rows per table; 0: all (default: 20; with --json all)")
      ->check(whole_number());
  app.add_option("--sort", arguments->sort, "order of rows (default: self; for waits total)")
      ->check(CLI::IsMember({"self", "total"}));
  app.add_option("--percent-limit", arguments->percent_limit,
                 "smallest share of a row (default in trees: 1; 0: every call, nothing folded)")
      ->check(number_between(0.0, 100.0));
  app.add_flag("--show-idle", arguments->show_idle, "show the waits of idle workers");
  app.add_flag("--fold-generics", arguments->report.fold_generics, "merge Vec<u8>::push and Vec<u16>::push");
  app.add_flag("--wide", arguments->wide, "do not shorten names");
  app.add_flag("--follow", arguments->follow,
               "heap dumps of jemalloc: print a line for each new one until Ctrl-C, then the report of all");
  return [arguments] { return run_report(*arguments); };
}

}  // namespace fathom::cli
