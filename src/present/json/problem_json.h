// The class of the problem, for scripts: docs/report-json.md.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/summary/problem_class.h"

namespace fathom::present {

nlohmann::ordered_json problem_json(const analysis::ProblemClass& problem);

}  // namespace fathom::present
