// System calls for a terminal.
#pragma once

#include <string>

#include "analysis/summary/system_call_table.h"
#include "present/text/text_report.h"

namespace fathom::present {

std::string system_calls_text(const analysis::SystemCallTable& table, const TextOptions& options);

}  // namespace fathom::present
