// System calls as JSON (docs/report-json.md).
#pragma once

#include <cstddef>
#include <string>

#include "analysis/summary/system_call_table.h"

namespace fathom::present {

// `top`: at most so many rows of each list; 0: all.
std::string to_json(const analysis::SystemCallTable& table, const std::string& target, double duration_s,
                    std::size_t top);

}  // namespace fathom::present
