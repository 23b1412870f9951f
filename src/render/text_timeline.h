// The heap over time as a chart for a terminal, and below it what the peak was made of. ASCII only.
#pragma once

#include <string>

#include "render/text_report.h"
#include "report/heap_timeline.h"

namespace fathom::render {

// Columns of the chart itself, for TimelineOptions::columns.
std::size_t timeline_columns(const TextOptions& options);

std::string heap_timeline_text(const report::HeapTimeline& timeline, const TextOptions& options);

}  // namespace fathom::render
