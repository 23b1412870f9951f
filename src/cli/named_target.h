// `-n NAME`: the one process that has this name; `-p PID`: whether that is a process.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace fathom::cli {

// Of several, the one that has started all others: the master of a server. Fails where there is none, with those that are named like it, and where there are several, with `command` for the first
// ("fathom doctor").
Result<std::int32_t> the_one_named(const std::string& name, const std::string& command);

// Threads have numbers of the same kind. Fails for one that is not the first of its process, and says which process that is;
// `command`: "fathom record". Of a number that nobody has it says nothing.
Result<> is_process(std::int32_t pid, const std::string& command);

}  // namespace fathom::cli
