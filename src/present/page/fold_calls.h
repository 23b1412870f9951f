// The smallest calls become one below their caller, for a page that would be too large: nothing vanishes from the sums.
#pragma once

#include "present/page/call_nodes.h"
#include "present/page/cost_table.h"

namespace fathom::page {

// Calls that are less than `share` of every metric in which they are. Returns how many went. Nothing can be added to `nodes`
// afterwards.
std::uint32_t fold_small_calls(CallNodes& nodes, Costs& costs, double share);

}  // namespace fathom::page
