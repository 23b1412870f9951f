// Groups of what was measured as a table: crates, modules, threads, files, lines.
#pragma once

#include <string>

#include "present/text/text_report.h"

namespace fathom::present {

// With a heading. The report has groups.
std::string groups_text(const analysis::Report& report, const TextOptions& options);

}  // namespace fathom::present
