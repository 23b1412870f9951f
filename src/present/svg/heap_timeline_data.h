// The values of the heap's timeline as JSON, for the script of the picture.
#pragma once

#include <string>

#include "analysis/heap/heap_timeline.h"

namespace fathom::present {

// Where the chart is, in pixels.
struct TimelineFrame {
  double left = 0, top = 0, width = 0, height = 0;
};

// Bytes as whole numbers; times to a microsecond.
std::string timeline_data(const analysis::HeapTimeline& timeline, const TimelineFrame& frame);

}  // namespace fathom::present
