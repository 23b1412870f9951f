// What glibc's malloc holds in a process: its arenas, the free memory in them and the blocks with their own
// mappings. Pure over PresentMemory; needs no symbol.
#pragma once

#include <optional>

#include "attach/allocators/state/present_memory.h"
#include "attach/allocators/state/process_map.h"
#include "attach/allocators/state/state.h"

namespace fathom::allocators {

// nullopt: the process has no glibc. If its malloc was never called, no arena can be found either; it is
// reported as unknown.
std::optional<AllocatorState> read_glibc(PresentMemory& memory, const ProcessMap& map);

}  // namespace fathom::allocators
