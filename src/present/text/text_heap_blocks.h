// The tables of single blocks of the heap, for a terminal (report --blocks).
#pragma once

#include <string>
#include <vector>

#include "analysis/heap/heap_blocks.h"
#include "present/text/text_report.h"

namespace fathom::present {

// The largest, then the oldest; at most options.top rows each.
std::string heap_blocks_text(const std::vector<analysis::HeapBlockRow>& rows, const TextOptions& options);

}  // namespace fathom::present
