// The part of the JSON report that is about the heap. Private to json.cpp.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "analysis/summary/heap_report.h"

namespace fathom::present {

// Adds "heap": at most `top` functions, 0 for all.
void add_heap(nlohmann::ordered_json& json, const analysis::HeapReport& heap, std::size_t top);

}  // namespace fathom::present
