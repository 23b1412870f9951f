// fathom tui: a recording in a terminal, to walk through with perf report's keys.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/annotate_options.h"
#include "cli/command.h"
#include "cli/newest_recording.h"
#include "cli/notices.h"
#include "cli/output.h"
#include "cli/selection_options.h"
#include "present/tui/browser.h"
#include "present/tui/terminal.h"

namespace fathom::cli {
namespace {

struct TuiArguments {
  std::string file;
  SelectionOptions selection;
};

Result<int> run_tui(const TuiArguments& arguments) {
  if (const Result<> terminal = tui::check_terminal(); !terminal) return tl::unexpected(terminal.error());
  const Result<model::Profile> profile = open_selected(arguments.file, arguments.selection);
  if (!profile) return tl::unexpected(profile.error());
  const Result<SelectionOptions> timed = with_times(arguments.selection, *profile);
  if (!timed) return tl::unexpected(timed.error());
  tui::Words words;
  words.metric = arguments.selection.metric;
  words.thread = arguments.selection.thread;
  words.from_s = timed->from.seconds;
  words.until_s = timed->until.seconds;
  words.focus = arguments.selection.focus;
  words.ignore = arguments.selection.ignore;
  words.cuts = arguments.selection.cuts;
  tui::Sources sources;
  sources.select = [&](const tui::Words& said) {
    SelectionOptions options = arguments.selection;
    options.metric = said.metric;
    options.thread = said.thread;
    options.from = {said.from_s, {}};
    options.until = {said.until_s, {}};
    options.focus = said.focus;
    options.ignore = said.ignore;
    options.cuts = said.cuts;
    return selection_from(options, *profile);
  };
  sources.annotate = [&](const analysis::Selection& selection, const std::string& function) {
    return annotate::annotate(*profile, selection, annotate_options(function, arguments.selection.symbols));
  };
  sources.command_file = {arguments.file};
  if (arguments.selection.pid) {
    sources.command_file.emplace_back("--pid");
    sources.command_file.push_back(std::to_string(*arguments.selection.pid));
  }
  if (!arguments.selection.symbols.empty()) {
    sources.command_file.emplace_back("--symbols");
    sources.command_file.push_back(arguments.selection.symbols);
  }
  const auto browser = tui::Browser::open(*profile, words, std::move(sources));
  if (!browser) return within(arguments.file, browser.error());
  const Result<> shown = tui::run_in_terminal(**browser, output_has_color());
  if (!shown) return tl::unexpected(shown.error());
  // What was copied with y stays in the terminal's own lines, for those that know no clipboard.
  if (!(*browser)->last_copied().empty()) say("{}\n", (*browser)->last_copied());
  return kDone;
}

}  // namespace

Run add_tui(CLI::App& app) {
  auto arguments = std::make_shared<TuiArguments>();
  app.add_option("file", arguments->file,
                 "recording or another tool's file; - for standard input; default: newest here")
      ->type_name("FILE");
  add_dump_inputs(app, arguments->selection.dumps);
  add_selection_options(app, arguments->selection);
  add_cut_options(app, arguments->selection);
  app.footer("Press h for the keys; they are those of perf report.");
  return run_on_input(arguments, run_tui);
}

}  // namespace fathom::cli
