// What the program's own metrics explain of its growth, for scripts: docs/report-json.md, docs/watch.md.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/metrics/components.h"

namespace fathom::present {

// Keys "seconds", "memory_slope", "explained_share", "components", "allocator".
nlohmann::ordered_json components_json(const analysis::Components& found);

}  // namespace fathom::present
