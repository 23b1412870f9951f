// Statistics in the shape of what is read from outside, for the words and remedies that both have.
#pragma once

#include <optional>

#include "attach/allocators/state/state.h"
#include "attach/allocators/statistics/statistics.h"

namespace fathom::allocators {

// kUnknown, with the reason, where the totals are not in it. `resident` of a line is what jemalloc takes for resident:
// pages that were never touched are among it.
AllocatorState held_by(const Statistics& statistics);

}  // namespace fathom::allocators
