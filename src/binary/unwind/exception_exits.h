// Walks end where an exception is about to continue in its handler: there saved registers are already the
// handler's.
#pragma once

#include <cstdint>
#include <vector>

#include "binary/dwarf/compile.h"
#include "binary/elf/elf_file.h"
#include "binary/unwind/frame_sections.h"

namespace fathom::unwind {

// Changes the rows of such functions in `cfi`; how many functions that were.
std::uint64_t end_at_exception_exits(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                                     dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi);

}  // namespace fathom::unwind
