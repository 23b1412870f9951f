// What a comparison says about each side as a whole: its runs, its time, how evenly it worked.
#pragma once

#include <vector>

#include "analysis/diff/compared_runs.h"

namespace fathom::analysis {

// Fills in the sides of `report`, its run_factors and the errors that are assumed for single runs.
void describe_sides(const ComparedRuns& compared, const std::vector<RunScale>& scales, DiffReport& report);

// The unit of the figures; for kCount, `count_unit` becomes its name.
DiffUnit unit_of_figures(const ComparedRuns& compared, std::string& count_unit);

}  // namespace fathom::analysis
