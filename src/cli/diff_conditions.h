// The conditions of `fathom diff --fail-if`: which of them hold, and the lines on standard error about each.
#pragma once

#include <vector>

#include "analysis/diff/diff.h"
#include "analysis/diff/fail_condition.h"
#include "analysis/diff/totals.h"
#include "base/result.h"
#include "present/json/diff_json.h"

namespace fathom::cli {

// A check that can never fail is worse than none: kUsage for a limit to the total of shares; a line for a name
// that neither side has.
Result<> check_conditions(const std::vector<analysis::DiffReport>& reports,
                          const std::vector<analysis::Total>& totals,
                          const std::vector<analysis::FailCondition>& conditions);

std::vector<present::FailedCondition> failed_of(const std::vector<analysis::DiffReport>& reports,
                                                const std::vector<analysis::Total>& totals,
                                                const std::vector<analysis::FailCondition>& conditions);

// One line for each condition that holds, and for each that is not decided: its limit is exceeded, but not by
// more than noise.
void say_outcome(const std::vector<analysis::DiffReport>& reports, const std::vector<analysis::Total>& totals,
                 const std::vector<analysis::FailCondition>& conditions,
                 const std::vector<present::FailedCondition>& failed);

}  // namespace fathom::cli
