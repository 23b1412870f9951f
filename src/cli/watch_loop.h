// The readings of fathom watch, one after the other, on the screen, on standard output, in a log and as metrics for a server, until
// the processes or the user end it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cli/watch_arguments.h"
#include "cli/watch_signals.h"

namespace fathom::cli {

// `pids`: those that run now; with `arguments.listen`, others with the same names are added as they start.
Result<int> watch_until_end(const WatchArguments& arguments, const std::vector<std::int32_t>& pids,
                            WatchSignals& signals);

}  // namespace fathom::cli
