// The tables about what memory is made of, for a terminal.
#pragma once

#include <string>

#include "render/text_report.h"
#include "report/memory_bridge.h"

namespace fathom::render {

// From RSS to its parts, then the ranges. `sentences`: with those that a report of the heap has anyway.
std::string memory_text(const report::MemoryBridge& bridge, const TextOptions& options, bool sentences);

}  // namespace fathom::render
