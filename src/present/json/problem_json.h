// The class of the problem, for scripts: docs/report-json.md.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/summary/problem_class.h"

namespace fathom::present {

nlohmann::ordered_json problem_json(const analysis::ProblemClass& problem);
// Counts that only grow: descriptors, threads, children.
nlohmann::ordered_json resources_json(const analysis::Report& report);
// What a look at the end found not to go on, a row per verdict.
nlohmann::ordered_json stuck_json(const analysis::Report& report);

}  // namespace fathom::present
