// Heap tracers that a killed fathom, whose guardian was killed as well, left in a process. Every command that looks at
// such a process says so; a recording takes the tracer out first.
#pragma once

#include <cstdint>
#include <span>

namespace fathom::cli {

// One line for each of these processes that holds one, with the command that restores it.
void say_stale_tracers(std::span<const std::int32_t> pids);

// Takes them out, and says so; what cannot be restored is said as well.
void repair_stale_tracers(std::span<const std::int32_t> pids);

// The same for every other process of this machine that may be looked at, in 0.1 s of CPU time at most: what dead predecessors left.
void repair_all_stale_tracers(std::span<const std::int32_t> except);

}  // namespace fathom::cli
