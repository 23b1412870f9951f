// report --calls --json: keys as in docs/report-json.md.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/summary/call_table.h"

namespace fathom::present {

// At most `top` paths of each function; 0: all.
std::string to_json(const analysis::CallTable& table, const std::string& target, double duration_s,
                    std::size_t top);

}  // namespace fathom::present
