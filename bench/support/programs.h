// Programs that a benchmark runs.
#pragma once

#include <string>
#include <vector>

#include "support/command.h"

namespace fathom::bench {

// Starts it and waits for its end, at most ten minutes. Throws std::runtime_error if it fails.
support::Outcome run(const std::vector<std::string>& command);

// The path of g++'s actual compiler, because its driver would be another process; empty if there is none.
std::string cc1plus();

}  // namespace fathom::bench
