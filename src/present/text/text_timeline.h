// The heap over time as a chart for a terminal, and below it what the peak was made of. ASCII only.
#pragma once

#include <string>

#include "analysis/heap/heap_timeline.h"
#include "present/text/text_report.h"

namespace fathom::present {

// Columns of the chart itself, for TimelineOptions::columns.
std::size_t timeline_columns(const TextOptions& options);

std::string heap_timeline_text(const analysis::HeapTimeline& timeline, const TextOptions& options);

}  // namespace fathom::present
