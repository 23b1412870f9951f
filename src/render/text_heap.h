// The tables about the heap, for a terminal.
#pragma once

#include <string>

#include "render/text_report.h"
#include "report/heap_report.h"

namespace fathom::render {

// One row per function that wanted memory, most live first.
std::string heap_functions_text(const report::HeapReport& heap, const TextOptions& options);
// Allocators with their hooks, sizes, lifetimes (--heap).
std::string heap_detail_text(const report::HeapReport& heap, const TextOptions& options);
// A line of the quality block.
std::string heap_quality_text(const report::HeapReport& heap, const TextOptions& options);

}  // namespace fathom::render
