// fathom leaks: what was never freed, as sanitizers show it, with an exit status for scripts.
#include <memory>
#include <optional>

#include "analysis/heap/heap_leaks.h"
#include "base/files.h"
#include "cli/block_options.h"
#include "cli/command.h"
#include "cli/newest_recording.h"
#include "cli/number_word.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/output_kind.h"
#include "cli/seconds_word.h"
#include "cli/selection_options.h"
#include "formats/open/open_profile.h"
#include "present/json/heap_leaks_json.h"
#include "present/sentences/quality_sentences.h"
#include "present/text/text_leaks.h"

namespace fathom::cli {
namespace {

struct LeaksArguments {
  BlockOptions blocks;
  std::string file;
  std::vector<std::string> suppressions;
  analysis::LeakOptions leaks;
  std::optional<std::size_t> top;
  std::size_t frames = 16;
  OutputPath output;
  std::string color = "auto";
  std::string symbols;
  DumpInputs dumps;
  bool no_defaults = false, no_fail = false, json = false, wide = false;
};

Result<std::vector<analysis::Suppression>> read_suppressions(const LeaksArguments& arguments) {
  // The user's first: what both would take counts as theirs.
  std::vector<analysis::Suppression> all;
  for (const std::string& path : arguments.suppressions) {
    const Result<std::string> text = read_file(path);
    if (!text) return tl::unexpected<Error>(text.error());
    Result<std::vector<analysis::Suppression>> rows = analysis::parse_suppressions(*text, path);
    if (!rows) return tl::unexpected<Error>(rows.error());
    all.insert(all.end(), rows->begin(), rows->end());
  }
  if (!arguments.no_defaults)
    all.insert(all.end(), analysis::built_in_suppressions().begin(), analysis::built_in_suppressions().end());
  return all;
}

// 5 says that something is left for sure. What lost events may have freed fails the check in another way: it
// cannot be taken for a leak, and not for a clean end either.
int status_of(const analysis::LeakReport& leaks) {
  switch (leaks.answer) {
    case analysis::LeakAnswer::kNothing:
      return kDone;
    case analysis::LeakAnswer::kLeft:
      return kConditionHeld;
    case analysis::LeakAnswer::kNotKnown:
      break;
  }
  return kFailed;
}

Result<LeaksFound> find(const LeaksArguments& arguments, present::LeakTextOptions style) {
  analysis::LeakOptions options = arguments.leaks;
  Result<std::vector<analysis::Suppression>> suppressions = read_suppressions(arguments);
  if (!suppressions) return tl::unexpected<Error>(suppressions.error());
  options.suppressions = std::move(*suppressions);
  const Result<store::ReadOptions> reading = read_options_from(arguments.blocks);
  if (!reading) return tl::unexpected<Error>(reading.error());
  const Result<model::Profile> profile = open_with_names(arguments.file, *reading, arguments.symbols,
                                                         arguments.dumps, arguments.leaks.selection.pid);
  if (!profile) return tl::unexpected<Error>(profile.error());
  const Result<analysis::LeakReport> leaks = analysis::find_leaks(*profile, options);
  if (!leaks) return within(arguments.file, leaks.error());
  style.top = arguments.top.value_or(style.top);
  style.frames = arguments.frames;
  style.own_cost = present::own_cost_sentence(*profile);
  return LeaksFound{arguments.json ? present::leaks_json(*leaks, arguments.top.value_or(0))
                                   : present::leaks_text(*leaks, style),
                    arguments.no_fail ? static_cast<int>(kDone) : status_of(*leaks)};
}

Result<int> run_leaks(const LeaksArguments& arguments) {
  if (auto fitting =
          fits_ending(arguments.output.path, arguments.json ? OutputKind::kJson : OutputKind::kText);
      !fitting)
    return tl::unexpected<Error>(fitting.error());
  present::LeakTextOptions style;
  style.width = arguments.wide ? 0 : output_width();
  style.cut_names = arguments.output.path.empty() && output_is_narrow();
  style.color = output_has_color(arguments.color, arguments.output);
  const Result<LeaksFound> found = find(arguments, style);
  if (!found) return tl::unexpected<Error>(found.error());
  const Result<> written = write_output(found->text, arguments.output);
  if (!written) return tl::unexpected<Error>(written.error());
  return found->status;
}

}  // namespace

Result<LeaksFound> describe_leaks(const std::string& recording,
                                  const std::vector<std::string>& suppressions) {
  LeaksArguments arguments;
  arguments.file = recording;
  arguments.suppressions = suppressions;
  return find(arguments, {.width = output_width()});
}

Run add_leaks(CLI::App& app) {
  auto arguments = std::make_shared<LeaksArguments>();
  analysis::LeakOptions& options = arguments->leaks;
  app.add_option("file", arguments->file,
                 "recording or another tool's file; - for standard input; default: newest here")
      ->type_name("FILE");
  add_dump_inputs(app, arguments->dumps);
  begin_group(app, kSelectionGroup);
  app.add_option("--suppressions", arguments->suppressions,
                 "suppressions in LeakSanitizer's syntax: leak:PATTERN")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--no-default-suppressions", arguments->no_defaults,
               "also list what the C library keeps until the program ends");
  app.add_option("--min-bytes", options.min_bytes, "groups of at least N bytes (4k, 1m)")
      ->transform(size_word());
  app.add_option("--min-blocks", options.min_blocks, "groups of at least N blocks")
      ->check(number_between(0.0, 1e15));
  app.add_option("--older", options.older_s,
                 "blocks that have been live for longer (to the next power of two)")
      ->type_name("SECONDS")
      ->transform(seconds_word())
      ->check(number_between(0.0, 1e9));
  app.add_flag("--mappings", options.mappings, "also memory that the program mapped without an allocator");
  app.add_option("--thread", options.selection.thread, "allocated by threads with this name or number");
  app.add_option("-p,--pid", options.selection.pid, "one process")
      ->check(CLI::NonNegativeNumber)
      ->type_name("PID");
  begin_group(app, kRareGroup);
  add_block_options(app, arguments->blocks);
  add_symbols_option(app, arguments->symbols);
  add_merge_option(app, arguments->dumps);
  add_containers_option(app, options.selection.fold_containers, options.selection.fold_plumbing);
  begin_group(app, kOutputGroup);
  app.add_option("--top", arguments->top, "groups to list; 0: all (default: 20; with --json all)")
      ->check(whole_number());
  app.add_option("--frames", arguments->frames, "frames per group; 0: all")
      ->capture_default_str()
      ->check(whole_number());
  app.add_flag("--no-fail", arguments->no_fail, "exit with 0 even if there are leaks");
  app.add_flag("--json", arguments->json, "print JSON (docs/report-json.md)");
  app.add_flag("--wide", arguments->wide, "do not shorten names");
  add_output_options(app, arguments->output, "file (default: standard output)");
  add_color_option(app, arguments->color);
  app.footer(
      "Exit status: 0 no leaks; 5 leaks; 1 events were lost that may have freed every block that looks like a leak, or an allocator of the program could not be traced. Record with: fathom record --heap=exact -- COMMAND.");
  return run_on_input(arguments, run_leaks);
}

}  // namespace fathom::cli
