// Which code belongs to an allocator itself.
#pragma once

#include <vector>

#include "attach/allocators/find.h"
#include "attach/allocators/symbols.h"

namespace fathom::allocators {

// The functions listed in `allocator`, and those around them that by their names are inside of it.
std::vector<CodeRange> own_code(const Allocator& allocator, const Symbols& symbols);

}  // namespace fathom::allocators
