// Lengths of spans on both sides of a comparison: whether requests take longer than before.
#pragma once

#include <vector>

#include "analysis/diff/totals.h"

namespace fathom::analysis {

// For the kinds that every run has at least 20 spans of: median and p95, those with the most time first, at most three kinds. A
// quantile with too few spans beyond it for an interval is left out.
std::vector<Total> span_totals(const std::vector<DiffRun>& base, const std::vector<DiffRun>& fresh);

}  // namespace fathom::analysis
