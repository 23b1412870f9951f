// The part of the JSON report that is about the heap. Private to json.cpp.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "report/heap_report.h"

namespace fathom::report {

// Adds "heap": at most `top` functions, 0 for all.
void add_heap(nlohmann::ordered_json& json, const HeapReport& heap, std::size_t top);

}  // namespace fathom::report
