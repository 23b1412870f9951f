// What was never freed as JSON (docs/report-json.md).
#pragma once

#include <cstddef>
#include <string>

#include "analysis/heap/heap_leaks.h"

namespace fathom::present {

// At most `top` groups; 0: all.
std::string leaks_json(const analysis::LeakReport& report, std::size_t top);

}  // namespace fathom::present
