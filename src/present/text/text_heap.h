// The tables about the heap, for a terminal.
#pragma once

#include <string>

#include "analysis/summary/heap_report.h"
#include "present/text/text_report.h"

namespace fathom::present {

// One row per function that wanted memory, most live first.
std::string heap_functions_text(const analysis::HeapReport& heap, const TextOptions& options);
// Allocators with their hooks, sizes, lifetimes (--heap).
std::string heap_detail_text(const analysis::HeapReport& heap, const TextOptions& options);
// A line of the quality block.
std::string heap_quality_text(const analysis::HeapReport& heap, const TextOptions& options);

}  // namespace fathom::present
