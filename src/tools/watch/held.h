// What the allocators of a process hold, as parts of what its memory consists of. Pure.
#pragma once

#include "analysis/memory/memory_lines.h"
#include "attach/allocators/state/present_memory.h"
#include "attach/allocators/state/state.h"
#include "linux/memory/memory_reading.h"
#include "model/profile.h"
#include "record/session/memory/memory_composition.h"

namespace fathom::watch {

// Adds each allocator's ranges to the composition; these become rows of `names`. After set_pages(). `huge`:
// the parts of the process on huge pages.
void add_held(const allocators::AllocatorStates& states, const allocators::AddressRanges& huge,
              session::MemoryComposition& composition, model::Profile& names, model::Builder& builder);

// Live blocks and what is free among them lie in the same pages, so the composition has one line for both: it is
// divided as the allocator's records divide it. All lines still add up to the same.
void divide_live(const allocators::AllocatorStates& states, analysis::MemoryLines& lines);

}  // namespace fathom::watch
