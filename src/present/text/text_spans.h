// The report on spans, for a terminal.
#pragma once

#include <string>

#include "analysis/spans/span_report.h"
#include "present/text/text_report.h"

namespace fathom::present {

std::string spans_text(const analysis::SpanReport& report, const TextOptions& options);

}  // namespace fathom::present
