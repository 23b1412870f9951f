// The report for scripts. Keys and units: docs/report-json.md; a change that breaks a reader raises
// kJsonVersion.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/summary/report.h"
#include "analysis/summary/section.h"

namespace fathom::present {

inline constexpr int kJsonVersion = 1;

// At most `top` functions, callers and callees each; 0 for all. "functions_total" reports what is cut off.
// Names that are not UTF-8 get U+FFFD; nothing throws. `sections`: the tables to write; what the recording is, its summary and
// its quality are always there.
std::string to_json(const analysis::Report& report, std::size_t top,
                    const analysis::Sections& sections = analysis::Sections::all());

}  // namespace fathom::present
