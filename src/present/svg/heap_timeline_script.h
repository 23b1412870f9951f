// heap_timeline.js, put into the program by CMakeLists.txt.
#pragma once

#include <string_view>

namespace fathom::present {

extern const std::string_view kHeapTimelineScript;
extern const std::string_view kHeapTimelineScriptSha256;  // of its bytes, in hex

}  // namespace fathom::present
