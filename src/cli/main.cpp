// The one place that prints errors and turns outcomes into exit statuses.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "binary/symbolize/fetch_process.h"
#include "binary/symbolize/name_process.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/cut_files.h"
#include "cli/first_look.h"
#include "cli/manual.h"
#include "cli/notices.h"
#include "cli/option_groups.h"
#include "cli/option_table.h"
#include "cli/output.h"
#include "cli/presets.h"
#include "cli/tour_program.h"
#include "cli/version.h"
#include "cli/wrong_usage.h"

namespace {

using fathom::Error;
using fathom::ErrorKind;
using fathom::cli::Run;

int exit_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return fathom::cli::kWrongUsage;
    case ErrorKind::kNotFound:
      return fathom::cli::kTargetGone;
    case ErrorKind::kPermission:
      return fathom::cli::kNotPermitted;
    case ErrorKind::kSystem:
    case ErrorKind::kMalformed:
    case ErrorKind::kUnsupported:
      break;
  }
  return fathom::cli::kFailed;
}

int complain(const Error& error, std::string_view command = {}) {
  // Candidates of a name stand below it, a line each.
  fathom::cli::notice("fathom: " + fathom::analysis::printable_lines(error.message) + "\n");
  const std::string remedy =
      error.remedy.empty() ? fathom::cli::usual_remedy(error.kind, command) : error.remedy;
  if (!remedy.empty()) fathom::cli::say("try: {}\n", remedy);
  return exit_status(error.kind);
}

fathom::Result<std::vector<std::string>> with_preset(const CLI::App& app,
                                                     const std::vector<std::string>& words) {
  const auto project = fathom::cli::find_presets();
  if (!project) return tl::unexpected(project.error());
  return fathom::cli::expand_preset(app, words, *project ? &**project : nullptr);
}

int run(int argc, char** argv) {
  CLI::App app("fathom: profiler for native Linux processes: CPU time, waits, heap and memory");
  app.name("fathom");
  app.set_help_flag("-h,--help", "print the common options");
  app.set_version_flag("--version", fathom::cli::version_text, "print the version and how it was built");
  fathom::cli::use_help_format(app, std::min<std::size_t>(fathom::cli::output_width(), 110));
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "list every option");
  app.footer(
      "Exit status: 0 done; 1 failed; 2 wrong usage; 3 not found or gone; 4 not permitted; 5 a condition held (leaks: there are leaks; diff: --fail-if); 6 the target of a heap recording was left changed.");
  std::vector<std::pair<CLI::App*, Run>> runs, about;
  for (const fathom::cli::Command& command : fathom::cli::commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.description)->group(command.group);
    runs.emplace_back(sub, command.add(*sub));
  }
  for (const auto& [sub, command] : fathom::cli::add_about_commands(app)) about.emplace_back(sub, command);
  for (const auto& [sub, unused] : runs) fathom::cli::add_preset_option(*sub);
  runs.insert(runs.end(), about.begin(), about.end());
  for (const auto& [sub, unused] : runs) fathom::cli::end_options_with_their_value(*sub);
  for (const auto& [sub, unused] : runs)
    for (const char* help : {"--help", "--help-all"}) sub->get_option(help)->group(fathom::cli::kRareGroup);
  // For tests of what documents say: a line is understood, and nothing of it is done.
  const bool only_check = argc > 2 && std::string_view(argv[1]) == "--check-usage";
  if (only_check) {
    argv[1] = argv[0];
    ++argv;
    --argc;
  }
  std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
  if (fathom::cli::names_preset(words)) {
    auto expanded = with_preset(app, words);
    if (!expanded) return complain(expanded.error());
    words = std::move(*expanded);
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // which takes the last word first
    if (only_check) return fathom::cli::kDone;
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    if (argc < 2) {  // who types the name alone wants to know what there is
      app.exit(CLI::CallForHelp());
      return fathom::cli::kWrongUsage;
    }
    const CLI::App* named = nullptr;
    std::vector<std::string> names;
    for (const auto& [sub, unused] : runs) {
      if (sub->parsed()) named = sub;
      names.push_back(sub->get_name());
    }
    if (named == nullptr && argv[1][0] != '-') return complain(fathom::cli::no_such_command(argv[1], names));
    return complain(fathom::cli::wrong_usage(error, named));
  }
  for (const auto& [sub, command] : runs) {
    if (!sub->parsed()) continue;
    if (const auto empty = fathom::cli::empty_value(*sub, words)) return complain(*empty);
    const fathom::Result<int> outcome = command();
    return outcome ? *outcome : complain(outcome.error(), sub->get_name());
  }
  return fathom::cli::kWrongUsage;
}

// A write beyond the limit of file sizes (ulimit -f) becomes an error of this write. A handler and not SIG_IGN, which a
// launched command would inherit.
void survive_the_limit_of_file_sizes() {
  struct sigaction before {
  }, nothing{};
  if (::sigaction(SIGXFSZ, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  nothing.sa_handler = [](int) {};
  nothing.sa_flags = SA_RESTART;
  ::sigaction(SIGXFSZ, &nothing, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    fathom::cli::survive_cut_files();
    survive_the_limit_of_file_sizes();
    if (argc > 1 && std::string_view(argv[1]) == fathom::symbolize::kFetchProcessArgument)
      return fathom::symbolize::run_fetch_process(argc, argv);
    if (argc > 1 && std::string_view(argv[1]) == fathom::symbolize::kNameProcessArgument)
      return fathom::symbolize::run_name_process(argc, argv);
#ifdef FATHOM_HAS_RECORD
    if (argc == 3 && std::string_view(argv[1]) == fathom::cli::kFirstLookArgument)
      return fathom::cli::run_first_look(argv[2]);
    if (argc == 2 && std::string_view(argv[1]) == fathom::cli::kTourProgramArgument)
      return fathom::cli::run_tour_program();
#endif
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return complain({ErrorKind::kSystem, "out of memory", "a shorter time (--from, --until)"});
  } catch (const std::exception& error) {
    return complain({ErrorKind::kSystem, error.what(), ""});
  }
}
