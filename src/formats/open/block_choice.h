// That the tables of a heap tell of some of its blocks only, as the facts of the profile say it: whoever judges or shows
// the heap afterwards cannot see what was left out.
#pragma once

#include <string>

#include "model/profile.h"
#include "model/store/heap_filter.h"

namespace fathom::open {

// "that were never freed, of 4096 bytes and more"; empty where all are chosen.
std::string block_choice_text(const store::HeapBlockFilter& filter);

// Facts of the profile: "heap blocks", the text above, and "heap blocks by": "fate" where what became of a block decides
// (lifetime, leaked, freed, alive at), "place" where only its size or address does. None where all are chosen.
void tell_block_choice(const store::HeapBlockFilter& filter, model::Profile& profile);

}  // namespace fathom::open
