// The report on spans as JSON (docs/spans.md).
#pragma once

#include <string>

#include "analysis/spans/span_report.h"

namespace fathom::present {

// `top`: rows per table; 0: all.
std::string to_json(const analysis::SpanReport& report, const std::string& target, std::size_t top);

}  // namespace fathom::present
