// Statistics that an allocator prints of itself, as a person and as a script read them. Keys: docs/report-json.md.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "attach/allocators/statistics/statistics.h"

namespace fathom::present {

// The last one in full, and what changed since the first; `top` classes of sizes, 0 for all. `width` 0: lines are not
// wrapped. `all` holds one at least.
std::string statistics_text(std::span<const allocators::Statistics> all, std::size_t width, bool color,
                            std::size_t top);
// Each of them.
std::string statistics_json(std::span<const allocators::Statistics> all);

}  // namespace fathom::present
