// Memory that was given back to the kernel while its addresses stayed mapped (madvise): by which allocator,
// or by which functions of the program. Of the whole recording.
#pragma once

#include <string>
#include <vector>

#include "analysis/core/heap.h"

namespace fathom::analysis {

struct HeapReturnRow {
  std::string allocator;         // label; empty: the program itself
  std::string function, module;  // of the program: what called madvise
  // The heaviest stack: the calling function, its caller, ...
  std::vector<std::string> path;
  double calls = 0;
  double bytes = 0;  // of the ranges: how much was resident is unknown
};

// One row per allocator, and per function of the program; most bytes first.
std::vector<HeapReturnRow> heap_returns(const model::Profile& profile, const Selection& selection,
                                        const HeapSums& sums);

}  // namespace fathom::analysis
