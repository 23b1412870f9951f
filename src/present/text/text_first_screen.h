// The first answer to "where does it go": at most one screen. What is behind it: report_text() with Layout::kAll.
#pragma once

#include <string>

#include "analysis/summary/report.h"
#include "present/text/text_report.h"

namespace fathom::present {

// At most 40 lines. `options.file`: for the commands that it ends with.
std::string first_screen_text(const analysis::Report& report, const TextOptions& options);

// The sentence below the headline of the first screen: about a leak, about waiting, or about CPU time.
std::string first_sentence(const analysis::Report& report);

// One line if a table was requested, and one about what is below it.
std::string summary_line(const analysis::Report& report, const TextOptions& options);
// The last lines: the class of problem, and the commands that show more.
std::string closing_text(const analysis::Report& report, const TextOptions& options);
std::string quality_line(const analysis::Report& report, const TextOptions& options);

}  // namespace fathom::present
