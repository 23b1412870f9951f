// The program that `fathom tour` records: a shop's server with three faults. It is fathom itself, started as
// `fathom --tour-program`, so the tour needs neither a compiler nor another file.
#pragma once

#include <string_view>

#include "cli/command.h"

namespace fathom::cli {

inline constexpr std::string_view kTourProgramArgument = "--tour-program";
inline constexpr int kTourSeconds = 8;

// Serves made-up requests for kTourSeconds. The exit status.
int run_tour_program();

Run add_tour(CLI::App& app);  // as command.h has it

}  // namespace fathom::cli
