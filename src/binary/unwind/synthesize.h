// Rows for functions without call frame information (panic=abort builds, hand-written assembly), from their
// instructions (base/arch/common/prologue.h). Much dearer than reading call frame information (about 100 ns per
// instruction), so only for functions that have none.
#pragma once

#include <vector>

#include "binary/dwarf/compile.h"
#include "binary/elf/elf_file.h"
#include "binary/unwind/frame_sections.h"
#include "binary/unwind/overlap.h"

namespace fathom::unwind {

// Finds the functions that have a symbol with a size and lie in none of `covered` (sorted, disjoint), and
// adds those that could be followed to `cfi`. Returns their pieces, sorted.
std::vector<Piece> synthesize(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                              const std::vector<Piece>& covered, dwarf::RuleSet& rules,
                              dwarf::CfiFunctions& cfi);

}  // namespace fathom::unwind
