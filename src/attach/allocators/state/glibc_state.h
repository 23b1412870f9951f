// What glibc's malloc holds in a process: its arenas, what lies free in them and what it mapped block by block. Pure
// over PresentMemory; needs no symbol.
#pragma once

#include <optional>

#include "attach/allocators/state/present_memory.h"
#include "attach/allocators/state/process_map.h"
#include "attach/allocators/state/state.h"

namespace fathom::allocators {

// nullopt: the process has no glibc. One whose malloc was never called has no arena that can be found either; it is
// reported as not known.
std::optional<AllocatorState> read_glibc(PresentMemory& memory, const ProcessMap& map);

}  // namespace fathom::allocators
