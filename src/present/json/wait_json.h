// The part of the JSON report that is about waiting. Private to json.cpp.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "analysis/summary/section.h"
#include "analysis/waits/wait_report.h"

namespace fathom::present {

// Adds "waits" and "causes", "locks", "files" as `sections` has them: at most `top` rows in each array, 0 for all.
void add_waits(nlohmann::ordered_json& json, const analysis::WaitReport& waits, std::size_t top,
               const analysis::Sections& sections);

}  // namespace fathom::present
