// flame_graph.js, put into the program by CMakeLists.txt.
#pragma once

#include <string_view>

namespace fathom::present {

extern const std::string_view kFlameGraphScript;
extern const std::string_view kFlameGraphScriptSha256;  // of its bytes, in hex

}  // namespace fathom::present
