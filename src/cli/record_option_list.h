// The options of `fathom record`, and those of them that `fathom triage` and `fathom top` have.
#pragma once

#include <CLI/CLI.hpp>

namespace fathom::cli {

struct RecordArguments;

// Declare the options on `app`; it writes into `arguments`, which lives as long.
void add_record_options(CLI::App& app, RecordArguments& arguments);
// Targets, the rate, the time and the file, for fathom top.
void add_top_options(CLI::App& app, RecordArguments& arguments);
void add_triage_options(CLI::App& app, RecordArguments& arguments);

}  // namespace fathom::cli
