// The part of the JSON report that is about what memory is made of. Private to json.cpp.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/memory/rss_breakdown.h"

namespace fathom::present {

// Adds "memory".
void add_memory(nlohmann::ordered_json& json, const analysis::RssBreakdown& breakdown);

}  // namespace fathom::present
