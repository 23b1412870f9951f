// What a jemalloc in a process holds, from its page tree: a radix tree of two levels that knows every run of pages it
// ever got, in use or free, whatever statistics it was built with. Pure over PresentMemory; needs no symbol.
//
// The tree's root (2^18 pointers, one per GiB of addresses) lies in the zeroed data of the file that jemalloc is linked
// into; its leaves (2^18 words, one per page) and the records in memory of jemalloc's own. The root is found by the
// records: an entry of a leaf leads to a record which names the very page that the entry stands for, and the page's
// address tells where in the root the leaf's pointer has to be. Nothing else in a process has that shape; and all of
// the tree must agree before a number of it counts.
#pragma once

#include <vector>

#include "attach/allocators/state/present_memory.h"
#include "attach/allocators/state/process_map.h"
#include "attach/allocators/state/state.h"

namespace fathom::allocators {

// One state per jemalloc that is found; none where there is none. At most eight.
std::vector<AllocatorState> read_jemalloc(PresentMemory& memory, const ProcessMap& map);

}  // namespace fathom::allocators
