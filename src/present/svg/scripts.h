// The scripts (web/dist/flame_graph.js and heap_timeline.js) as they stand in the pictures, and the sums of their bytes, in hex.
#pragma once

#include <string_view>

namespace fathom::present {

std::string_view flame_graph_script();
std::string_view heap_timeline_script();
extern const std::string_view kFlameGraphScriptSha256, kHeapTimelineScriptSha256;

}  // namespace fathom::present
