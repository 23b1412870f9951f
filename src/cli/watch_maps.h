// fathom watch --maps: every mapping of the processes, once, or what changed in a stretch of time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cli/watch_arguments.h"
#include "cli/watch_signals.h"

namespace fathom::cli {

Result<int> print_mappings(const WatchArguments& arguments, const std::vector<std::int32_t>& pids,
                           WatchSignals& signals);

}  // namespace fathom::cli
