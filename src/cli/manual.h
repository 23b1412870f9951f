// The manual pages and the completions of shells, made from the options as they are declared (option_table.h).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::cli {

// fathom(1), or fathom-COMMAND(1), in the macros of man(7). `command`: "" for the program itself; kNotFound for one that
// there is not.
Result<std::string> manual_page(const CLI::App& app, const std::string& command);

// What a shell reads to complete commands, options, and the values of options that have few. `shell`: bash, zsh or fish; "names":
// the commands alone, for the script that installs their pages; "markdown": docs/commands.md.
Result<std::string> completion_for(const CLI::App& app, const std::string& shell);

// What the words of reports mean: `fathom help words`.
extern const std::string_view kWordsText;

// The subcommands `help`, `man` and `completion`, which are about all others; `app` outlives what is returned.
struct AboutCommand {
  CLI::App* app;
  std::function<Result<int>()> run;
};
std::vector<AboutCommand> add_about_commands(CLI::App& app);

}  // namespace fathom::cli
