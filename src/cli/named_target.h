// `-n NAME`: the one process that has this name; `-p PID`: whether that is a process.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace fathom::cli {

// Of several, the one that has started all others: the master of a server. Fails where there is none, with those that are named like it, and where there are several, with `command` for the first
// ("fathom doctor").
Result<std::int32_t> the_one_named(const std::string& name, const std::string& command);

// Threads share the number space. Fails for a thread other than the first of its process, and names that
// process; `command`: "fathom record". Accepts an unused number silently.
Result<> is_process(std::int32_t pid, const std::string& command);

}  // namespace fathom::cli
