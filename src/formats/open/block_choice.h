// Records in the profile's facts that the heap's tables cover only some blocks: code that judges or shows the
// heap later cannot see which blocks were left out.
#pragma once

#include <string>

#include "model/profile.h"
#include "model/store/heap_filter.h"

namespace fathom::open {

// "that were never freed, of 4096 bytes and more"; empty if all blocks are selected.
std::string block_choice_text(const store::HeapBlockFilter& filter);

// Sets facts of the profile: "heap blocks", the text above, and "heap blocks by": "fate" if the selection
// depends on what happened to a block (lifetime, leaked, freed, alive at), "place" if only its size or
// address counts. No facts if all blocks are selected.
void tell_block_choice(const store::HeapBlockFilter& filter, model::Profile& profile);

}  // namespace fathom::open
