// Resident memory of all selected processes together, at each moment at which one of them was read.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/core/selection.h"
#include "analysis/heap/heap_trend.h"

namespace fathom::analysis {

enum class ResidentPart : std::uint8_t {
  kAll,
  kKept,  // without pages of files, which the kernel can drop
};

// The sum over all selected processes, by seconds from the start, at each moment at which one of them was read. A process counts
// until it ends.
std::vector<TrendPoint> resident_points(const model::Profile& profile, const Selection& selection,
                                        ResidentPart part);

}  // namespace fathom::analysis
