// flame_graph.js and heap_timeline.js, put into the program by CMakeLists.txt.
#pragma once

#include "packed/packed.h"

namespace fathom::present {

extern const packed::File kPackedFlameGraphScript, kPackedHeapTimelineScript;

}  // namespace fathom::present
