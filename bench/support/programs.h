// Programs that a benchmark runs.
#pragma once

#include <string>
#include <vector>

#include "support/command.h"

namespace fathom::bench {

// Starts it and waits for its end, ten minutes at most. Throws std::runtime_error when it fails.
support::Outcome run(const std::vector<std::string>& command);

// The path of g++'s compiler proper, whose driver would be another process; empty if there is none.
std::string cc1plus();

}  // namespace fathom::bench
