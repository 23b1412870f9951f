// The tables about what memory is made of, for a terminal.
#pragma once

#include <string>

#include "analysis/memory/rss_breakdown.h"
#include "present/text/text_report.h"

namespace fathom::present {

// From RSS to its parts, then the ranges. `sentences`: with those that a report of the heap has anyway.
std::string memory_text(const analysis::RssBreakdown& breakdown, const TextOptions& options, bool sentences);

}  // namespace fathom::present
