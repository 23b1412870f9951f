// `-n NAME`: the one process that has this name.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace fathom::cli {

// Fails where there is none, with those that are named like it, and where there are several, with `command` for the first
// ("fathom doctor").
Result<std::int32_t> the_one_named(const std::string& name, const std::string& command);

}  // namespace fathom::cli
