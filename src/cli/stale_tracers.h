// Heap tracers left in a process by a killed fathom whose guardian was killed too. Every command that
// inspects such a process reports them; a recording removes the tracer first.
#pragma once

#include <cstdint>
#include <span>

namespace fathom::cli {

// One line for each of these processes that holds one, with the command that restores it.
void say_stale_tracers(std::span<const std::int32_t> pids);

// Removes them and reports it, including what cannot be restored.
void repair_stale_tracers(std::span<const std::int32_t> pids);

// The same for every other process of this machine that may be looked at, in 0.1 s of CPU time at most: what dead predecessors left.
void repair_all_stale_tracers(std::span<const std::int32_t> except);

}  // namespace fathom::cli
