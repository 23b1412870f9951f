// The part of the JSON report that is about waiting. Private to json.cpp.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "report/wait_report.h"

namespace fathom::report {

// Adds "waits", "causes", "locks", "files" ...: at most `top` rows in each array, 0 for all.
void add_waits(nlohmann::ordered_json& json, const WaitReport& waits, std::size_t top);

}  // namespace fathom::report
