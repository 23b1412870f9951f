// C++ operators new and delete, where they end in a function that is traced anyway.
#pragma once

#include <vector>

#include "allocators/find.h"
#include "allocators/symbols.h"

namespace fathom::allocators {

// Whether the function does its work by one of `functions`, as libstdc++'s operators do by malloc and free.
// In doubt false: tracing both of two nested functions costs a little, and tracing neither loses calls.
bool ends_in(const elf::ElfFile& file, const NamedFunction& function, const std::vector<Function>& functions);

}  // namespace fathom::allocators
