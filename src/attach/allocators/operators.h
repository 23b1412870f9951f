// Functions that do their work by another one: which of the two is traced.
#pragma once

#include <vector>

#include "attach/allocators/find.h"
#include "attach/allocators/symbols.h"

namespace fathom::allocators {

// Whether the function does its work by one of `functions`, as libstdc++'s operators do by malloc and free.
// In doubt false: tracing both of two nested functions costs a little, and tracing neither loses calls.
bool ends_in(const elf::ElfFile& file, const NamedFunction& function, const std::vector<Function>& functions);

// Whether the function is little more than a jump to another one, which takes the block.
bool hands_on(const elf::ElfFile& file, const Function& function);

// Removes functions that free by passing the block to another one of them, also through the procedure
// linkage table: if both were recorded, a block would seem to be freed twice. A sized one stays if the
// unsized one does not; Function::hands_on marks it.
void leave_out_forwarding(const elf::ElfFile& file, std::vector<Function>& functions);

// Fills Function::ends_in: for functions that allocate and are little more than a jump or call to others of
// them, whose block they return as it is. In doubt empty, as above.
void find_wrappers(const elf::ElfFile& file, Allocator& allocator);

}  // namespace fathom::allocators
