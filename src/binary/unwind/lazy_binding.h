// A function that is called for the first time through the procedure linkage table is looked up on a frame whose size is known
// at run time only. What stands above it is found all the same: by that size.
#pragma once

#include <cstdint>

#include "binary/dwarf/compile.h"
#include "binary/elf/elf_file.h"

namespace fathom::unwind {

// Changes the rows of such functions in `cfi`; how many functions that were.
std::uint64_t size_binding_frames(const elf::ElfFile& file, dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi);

}  // namespace fathom::unwind
