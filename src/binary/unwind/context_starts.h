// Walks end where a coroutine's or a fiber's stack begins (base/arch/common/context_starts.h).
#pragma once

#include <vector>

#include "binary/dwarf/compile.h"
#include "binary/elf/elf_file.h"
#include "binary/unwind/frame_sections.h"
#include "binary/unwind/overlap.h"

namespace fathom::unwind {

// Adds a piece with CFA_END for each such place of the file: of the byte in front of it, where a return address is looked up, and
// of its code. How many there were.
std::size_t end_at_context_starts(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                                  dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi,
                                  std::vector<Piece>& pieces);

}  // namespace fathom::unwind
