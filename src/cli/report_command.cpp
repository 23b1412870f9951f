// fathom report: what a recording says, as text or JSON.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/core/printable_json.h"
#include "base/files.h"
#include "base/output_file.h"
#include "cli/command.h"
#include "cli/follow_dumps.h"
#include "cli/newest_recording.h"
#include "cli/notices.h"
#include "cli/number_word.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/output_kind.h"
#include "cli/report_arguments.h"
#include "cli/report_tables.h"
#include "cli/section_options.h"
#include "cli/selection_options.h"
#include "formats/open/open_profile.h"
#include "present/json/json.h"
#include "present/sentences/recorded_component_sentences.h"
#include "present/text/text_first_screen.h"
#include "present/text/text_report.h"
#include "present/text/text_table.h"
#include "tools/flight/death_text.h"
#include "tools/flight/living_marks.h"

namespace fathom::cli {
namespace {

using analysis::Section;

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

Result<> read_subsystems(ReportArguments& arguments) {
  if (arguments.subsystems.empty()) return {};
  constexpr std::size_t kMostBytes = 1 << 20;
  const Result<std::string> text = read_file(arguments.subsystems, kMostBytes);
  if (!text) return tl::unexpected(text.error());
  auto subsystems = analysis::Subsystems::parse(*text, arguments.subsystems);
  if (!subsystems) return tl::unexpected(subsystems.error());
  arguments.report.subsystems = std::move(*subsystems);
  return {};
}

// Everything that is known before the file is open.
Result<> settle(ReportArguments& arguments) {
  if (auto fitting =
          fits_ending(arguments.output.path, arguments.json ? OutputKind::kJson : OutputKind::kText);
      !fitting)
    return fitting;
  if (auto chosen = choose_sections(arguments.sections); !chosen) return chosen;
  if (auto read = read_subsystems(arguments); !read) return read;
  arguments.sections.sections.add(Section::kTree, !arguments.tree.empty());
  if (arguments.has(Section::kTree) && arguments.tree.empty()) arguments.tree = "callees";
  if (arguments.has(Section::kTimeline) || arguments.follow)
    arguments.selection.dumps.initial.kind = dumps::Merge::Kind::kAll;
  take_recording(arguments.selection.spans, arguments.file);
  return choose_input(arguments.file);
}

// How many of the largest blocks the file's reader keeps.
std::uint32_t blocks_to_keep(const ReportArguments& arguments) {
  if (!arguments.has(Section::kBlocks)) return 0;
  constexpr std::size_t kMostBlocks = 1'000'000;
  const std::size_t top = arguments.top.value_or(20);
  return static_cast<std::uint32_t>(top == 0 ? kMostBlocks : std::min(top, kMostBlocks));
}

// --by. Grouping a recording of the heap means the heap, unless another metric is given.
Result<> choose_grouping(const model::Profile& profile, const ReportArguments& arguments,
                         analysis::ReportOptions& options) {
  const bool names_metric = !arguments.selection.metric.empty();
  const bool groups_heap =
      model::is_heap(options.selection.metric) || (!names_metric && !profile.heap.empty());
  if (const auto by = analysis::group_by_from(arguments.by);
      by && (!groups_heap || arguments.by == "file" || arguments.by == "process")) {
    options.group_by = by;
    return {};
  }
  if (arguments.has(Section::kLines)) {
    options.group_by = analysis::GroupBy::kLine;
    return {};
  }
  if (arguments.by.empty() || (!groups_heap && arguments.by == "function")) return {};
  if (profile.heap.empty())
    return fail(ErrorKind::kNotFound, arguments.file + ": the heap was not recorded", "fathom record --heap");
  if (!names_metric) options.selection.metric = analysis::default_heap_metric(profile);
  if (!model::is_heap(options.selection.metric))
    return fail(ErrorKind::kUsage, fmt::format("--by {} groups the heap", arguments.by),
                "--metric heap-live, heap-allocated, ...; other metrics: --by crate, module, thread, file");
  options.heap_by = analysis::heap_grouping_from(arguments.by);
  return {};
}

bool is_grouped(const analysis::ReportOptions& options) {
  return options.group_by || options.subsystems;
}

// The table of the heap has what is live first, in bytes. Another metric, unit or order asks for the functions that it comes from.
bool asks_for_other_heap_table(const model::Profile& profile, const ReportArguments& arguments,
                               const analysis::ReportOptions& options) {
  const model::Metric metric = options.selection.metric;
  const bool is_named = (!arguments.selection.metric.empty() && metric != model::Metric::kHeapLive) ||
                        !arguments.selection.heap_unit.empty() || !arguments.sort.empty();
  return is_named && model::is_heap(metric) && !arguments.all && asks_for_functions(arguments) &&
         !is_grouped(options) && !options.heap_by && !profile.heap.empty();
}

// Nothing waits in itself: the leaves of such stacks are causes, and they have a table of their own.
bool is_waiting(model::Metric metric) {
  return metric == model::Metric::kOffCpu || metric == model::Metric::kWall;
}

Result<analysis::ReportOptions> options_of(const model::Profile& profile, const ReportArguments& arguments,
                                           analysis::Selection selection) {
  analysis::ReportOptions options = arguments.report;
  options.selection = std::move(selection);
  options.selection.fold_idle = !arguments.show_idle;
  const bool by_total =
      arguments.sort.empty() ? is_waiting(options.selection.metric) : arguments.sort == "total";
  options.sort = by_total ? analysis::SortBy::kTotal : analysis::SortBy::kSelf;
  if (auto chosen = choose_grouping(profile, arguments, options); !chosen)
    return tl::unexpected(chosen.error());
  if (asks_for_other_heap_table(profile, arguments, options))
    options.heap_by = analysis::HeapGrouping::kFunction;
  if (!arguments.tree.empty())
    options.tree =
        arguments.tree == "callers" ? analysis::TreeDirection::kCallers : analysis::TreeDirection::kCallees;
  if (arguments.percent_limit) options.least_share = *arguments.percent_limit / 100;
  return options;
}

std::string text_of(const model::Profile& profile, const analysis::Report& report,
                    const analysis::ReportOptions& options, const ReportArguments& arguments) {
  present::TextOptions style = style_of(arguments);
  style.top = arguments.top.value_or(style.top);
  style.sections = arguments.sections.sections;
  style.heap_by_itself =
      options.heap_by && arguments.selection.metric.empty() && has_metric(profile, model::Metric::kCpu);
  style.least_share = arguments.percent_limit.value_or(0) / 100;
  style.sections.add(Section::kSeries, arguments.all);
  style.file = input_word(arguments);
  style.layout = layout_of(arguments);
  // Imported off-CPU times have no waits to report, so their functions are the answer.
  if (is_waiting(options.selection.metric) && profile.waits.empty() &&
      style.layout == present::Layout::kFirstScreen)
    style.layout = present::Layout::kAsked;
  style.sections.add(Section::kFunctions, asks_for_functions(arguments) && !is_grouped(options));
  std::string text = present::report_text(report, style);
  if (arguments.has(Section::kMemory) || arguments.all) text += components_text(profile, style);
  return text;
}

Result<int> report_profile(const model::Profile& profile, const ReportArguments& arguments) {
  Result<analysis::Selection> selection = selection_from(arguments.selection, profile);
  if (!selection) return tl::unexpected(selection.error());
  if (arguments.has(Section::kTimeline) && !arguments.selection.from.given()) selection->from_ns.reset();
  if (auto table = report_one_table(profile, *selection, arguments)) return std::move(*table);
  const auto options = options_of(profile, arguments, std::move(*selection));
  if (!options) return tl::unexpected(options.error());
  const Result<analysis::Report> report = analysis::make_report(profile, *options);
  if (!report) return within(arguments.file, report.error());
  if (const auto missing = analysis::not_recorded(*report, arguments.sections.sections))
    return tl::unexpected<Error>(not_there(arguments.file, *missing));
  std::string text = arguments.json ? present::to_json(*report, arguments.top.value_or(0),
                                                       sections_of_json(arguments.sections))
                                    : text_of(profile, *report, *options, arguments);
  text = with_death(std::move(text), profile, arguments, arguments.wide ? 0 : output_width());
  return end_with_output(text, arguments.output);
}

Result<int> run_report(const ReportArguments& given) {
  ReportArguments arguments = given;
  if (auto settled = settle(arguments); !settled) return tl::unexpected(settled.error());
  if (arguments.follow)
    if (const Result<> followed = follow_dumps(arguments.file, arguments.selection); !followed)
      return tl::unexpected(followed.error());
  std::string statistics;
  arguments.selection.statistics = &statistics;
  const Result<model::Profile> profile =
      open_selected(arguments.file, arguments.selection, blocks_to_keep(arguments));
  if (!statistics.empty()) return report_statistics(statistics, arguments);
  if (!profile) return tl::unexpected(profile.error());
  return report_profile(*profile, arguments);
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
