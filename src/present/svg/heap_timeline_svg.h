// The heap over time as a picture: stacked areas by who asked for the memory, the peak marked, and below them resident
// memory in a strip with a scale of its own. One self-contained SVG; its small script shows the values of the moment under
// the pointer. Without the script the picture is the same.
#pragma once

#include <string>
#include <vector>

#include "analysis/heap/heap_timeline.h"

namespace fathom::present {

struct HeapTimelineOptions {
  std::string title;               // empty: what is drawn
  std::string subtitle;            // empty: the peak
  double width = 1200;             // pixels
  double height = 380;             // of the chart, without what stands above and below it
  std::vector<std::string> notes;  // sentences below the timeline's own
};

// Points to ask of the timeline for a picture of this width: one each two pixels.
std::size_t timeline_columns(const HeapTimelineOptions& options);

std::string heap_timeline_svg(const analysis::HeapTimeline& timeline, const HeapTimelineOptions& options);

}  // namespace fathom::present
