// The order of a comparison's rows, and where the functions that changed are in the source.
#pragma once

#include "analysis/diff/compared_runs.h"

namespace fathom::analysis {

// By |change|, largest first, ties by name.
void sort_rows(DiffReport& report);

// Source locations of the functions that changed. Names without their build-specific parts cannot be looked
// up again, so they have none.
void find_places(const ComparedRuns& compared, DiffReport& report);

}  // namespace fathom::analysis
