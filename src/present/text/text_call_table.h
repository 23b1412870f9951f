// Calls of probed functions, for a terminal.
#pragma once

#include <string>

#include "analysis/summary/call_table.h"
#include "present/text/text_report.h"

namespace fathom::present {

std::string call_table_text(const analysis::CallTable& table, const TextOptions& options);

}  // namespace fathom::present
