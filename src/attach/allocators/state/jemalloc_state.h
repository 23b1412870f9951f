// What a jemalloc in a process holds, from its page tree: a radix tree of two levels with every run of pages
// that it ever got, in use or free, independent of the statistics that it was built with. Pure over
// PresentMemory; needs no symbol.
//
// The tree's root (2^18 pointers, one per GiB of addresses) is in the zeroed data of the file that jemalloc
// is linked into; its leaves (2^18 words, one per page) and the records are in jemalloc's own memory. fathom
// finds the root by the records: an entry of a leaf leads to a record that names the entry's own page, and
// the page's address determines the place of the leaf's pointer in the root. Nothing else in a process has
// that shape, and the whole tree must be consistent before any number counts.
#pragma once

#include <vector>

#include "attach/allocators/state/present_memory.h"
#include "attach/allocators/state/process_map.h"
#include "attach/allocators/state/state.h"

namespace fathom::allocators {

// One state per jemalloc found, at most eight; empty if there is none.
std::vector<AllocatorState> read_jemalloc(PresentMemory& memory, const ProcessMap& map);

}  // namespace fathom::allocators
