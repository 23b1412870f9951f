// What an allocator holds, in words: one table for every command that says it.
#pragma once

#include <string_view>

#include "attach/allocators/state/state.h"

namespace fathom::allocators {

// "live blocks", "free, not given back (dirty)".
std::string_view words_of(HeldKind kind);

// Of kinds that lie in the same pages, the one that a range of addresses is called after: what is free among live blocks
// has no pages of its own.
HeldKind kind_of_range(HeldKind kind);

}  // namespace fathom::allocators
