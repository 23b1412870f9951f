// The tables of single blocks of the heap, for a terminal (report --blocks).
#pragma once

#include <string>
#include <vector>

#include "render/text_report.h"
#include "report/heap_blocks.h"

namespace fathom::render {

// The largest, then the oldest; at most options.top rows each.
std::string heap_blocks_text(const std::vector<report::HeapBlockRow>& rows, const TextOptions& options);

}  // namespace fathom::render
