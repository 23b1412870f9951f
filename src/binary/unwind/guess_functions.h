// Rows for code without a description: a stripped program without call frame information, a C library that
// was built without. Functions are searched (function_starts.h) and followed (base/arch/common/prologue.h). Their
// rules carry UNWIND_RULE_GUESSED, so that a walk believes the return address that they give only where a
// call stands before it.
#pragma once

#include <vector>

#include "binary/dwarf/compile.h"
#include "binary/elf/elf_file.h"
#include "binary/unwind/frame_sections.h"
#include "binary/unwind/overlap.h"

namespace fathom::unwind {

struct Guesses {
  std::vector<Piece> pieces;    // sorted, disjoint, outside of what is covered
  std::uint64_t functions = 0;  // that they belong to
};

// Looks at what lies in none of `covered` (sorted, disjoint) and adds to `cfi` what could be followed. Reads the whole
// file, so it does nothing where nearly all code is covered.
Guesses guess_functions(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                        const std::vector<Piece>& covered, dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi);

// The calls from which threads begin, if nothing covers them: CFA_END.
std::vector<Piece> end_threads(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                               const std::vector<Piece>& covered, dwarf::RuleSet& rules,
                               dwarf::CfiFunctions& cfi);

}  // namespace fathom::unwind
