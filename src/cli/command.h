// The subcommands: one file each. add_X() declares the options of `fathom X` on `app` and returns what runs
// when the user asked for X; the number is the exit status. Errors are returned, never printed here: main.cpp
// alone prints and exits.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::cli {

enum ExitStatus : int {
  kDone = 0,
  kFailed = 1,
  kWrongUsage = 2,
  kTargetGone = 3,
  kNotPermitted = 4,
  kConditionHeld = 5,
  kLeftChanged = 6,  // the target of a heap recording is not as it was before
};

using Run = std::function<Result<int>()>;

Run add_record(CLI::App& app);
Run add_triage(CLI::App& app);
Run add_top(CLI::App& app);
Run add_report(CLI::App& app);
Run add_flamegraph(CLI::App& app);
Run add_diff(CLI::App& app);
Run add_timeline(CLI::App& app);
Run add_view(CLI::App& app);
Run add_tui(CLI::App& app);
Run add_leaks(CLI::App& app);
Run add_export(CLI::App& app);
Run add_merge(CLI::App& app);
Run add_symbolize(CLI::App& app);
Run add_list(CLI::App& app);
Run add_clean(CLI::App& app);
Run add_doctor(CLI::App& app);
Run add_allow(CLI::App& app);
Run add_detach(CLI::App& app);
Run add_oom(CLI::App& app);
Run add_watch(CLI::App& app);
Run add_serve(CLI::App& app);
Run add_push(CLI::App& app);
Run add_limit(CLI::App& app);
Run add_stacks(CLI::App& app);

// Draws the CPU flame graph of a recording next to it (`force`: overwrites an existing file), and returns its
// path (flamegraph_command.cpp).
Result<std::string> draw_flamegraph(const std::string& recording, bool force);

// Draws the CPU flame graph into `path`, and exports the recording in a format of `fathom export` (export_command.cpp).
Result<> draw_flamegraph_to(const std::string& recording, const std::string& path, bool force);
Result<> export_to(const std::string& recording, const std::string& format, const std::string& path,
                   bool force);

// Prints the first screen of its report (report_command.cpp).
Result<> print_first_screen(const std::string& recording);

// Writes all of its report as text next to it, and returns the path. An existing text is replaced with `force` only, because
// nothing tells a report from notes; may_write_report() finds that out before the recording.
Result<std::string> write_report(const std::string& recording, bool force);
Result<> may_write_report(const std::string& recording, bool force);

// What was never freed, as text, and the exit status for it (leaks_command.cpp).
struct LeaksFound {
  std::string text;
  int status = kDone;
};
Result<LeaksFound> describe_leaks(const std::string& recording, const std::vector<std::string>& suppressions);

}  // namespace fathom::cli
