// Allocators inside of language runtimes, which hand out pieces of arenas that they map by themselves: their blocks are
// no calls of malloc, and are seen only where a setting of the runtime makes them so.
#pragma once

#include <vector>

#include "allocators/find.h"

namespace fathom::allocators {

// Those that this file defines; by exported names, which stripping leaves.
std::vector<Unseen> runtime_arenas(const elf::ElfFile& file);

}  // namespace fathom::allocators
