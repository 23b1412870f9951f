// The style sheet of the heap's timeline, and the classes of it that bands and lines have.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/heap/heap_timeline.h"

namespace fathom::present {

// For the light and the dark theme of the viewer.
std::string timeline_style();
// "b3" for the fourth of the named groups; others have their kind.
std::string timeline_band_class(const analysis::HeapTimeline& timeline, std::size_t group);
// "k1".
std::string timeline_line_class(std::size_t line);
// Text on this band is light, because the band is dark in both themes.
bool has_light_text(const analysis::HeapTimeline& timeline, std::size_t group);

}  // namespace fathom::present
