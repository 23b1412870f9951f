// Names for what an allocator holds: one table for every command.
#pragma once

#include <string_view>

#include "attach/allocators/state/state.h"

namespace fathom::allocators {

// "live blocks", "free, not given back (dirty)".
std::string_view words_of(HeldKind kind);

// If two kinds share pages, the one that names an address range: free blocks among live ones have no pages of
// their own.
HeldKind kind_of_range(HeldKind kind);

}  // namespace fathom::allocators
