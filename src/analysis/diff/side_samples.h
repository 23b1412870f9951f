// How many samples a side has. A row of a file is one sample only if its recorder wrote each sample: folded
// stacks, tables of a server and pprof files have sums.
#pragma once

#include <cstdint>

#include "analysis/diff/diff_run.h"

namespace fathom::analysis {

// `rows`: the number of rows in the selection, which is the answer for every metric but CPU time.
std::uint64_t samples_of(const DiffRun& run, model::Metric metric, std::uint64_t rows);

}  // namespace fathom::analysis
