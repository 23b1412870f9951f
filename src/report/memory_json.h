// The part of the JSON report that is about what memory is made of. Private to json.cpp.
#pragma once

#include <nlohmann/json.hpp>

#include "report/memory_bridge.h"

namespace fathom::report {

// Adds "memory".
void add_memory(nlohmann::ordered_json& json, const MemoryBridge& bridge);

}  // namespace fathom::report
