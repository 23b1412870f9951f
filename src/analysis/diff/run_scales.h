// How the values of each run become comparable, with what is assumed about the errors of a single run.
#pragma once

#include <vector>

#include "analysis/diff/compared_runs.h"
#include "base/result.h"

namespace fathom::analysis {

// By run. kUsage if a run does not fit the normalization: no time, no work.
Result<std::vector<RunScale>> scales_of(const ComparedRuns& compared);

// The total of CPU time by clocks. It does not depend on samples, so it is not among the figures that are
// judged together. When shares are compared, it is the total of whole runs, or else a rate per second.
// nullopt if a run has no clock, or its time is unknown.
std::optional<MeasuredTotal> measured_total(const ComparedRuns& compared,
                                            const std::vector<RunScale>& scales);

}  // namespace fathom::analysis
