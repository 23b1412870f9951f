// The scripts web/dist/flame_graph.js and heap_timeline.js, put into the program by CMakeLists.txt.
#pragma once

#include "base/packed/packed.h"

namespace fathom::present {

extern const packed::File kPackedFlameGraphScript, kPackedHeapTimelineScript;

}  // namespace fathom::present
