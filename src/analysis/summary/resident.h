// How the resident memory of the target went: most, last, and whether it grew.
#pragma once

#include <optional>

#include "analysis/core/selection.h"
#include "analysis/heap/heap_trend.h"

namespace fathom::analysis {

// Anonymous, of files and shared, all selected processes together.
struct ResidentMemory {
  double first = 0, last = 0, most = 0;  // bytes
  Trend trend;
};

// nullopt: it was not recorded.
std::optional<ResidentMemory> find_resident(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
