// Rows for functions without call frame information (panic=abort builds, hand-written assembly), from their
// instructions: what pushes, pops and moves rsp and rbp is followed along every path from the entry. Where
// two paths disagree, or rsp goes where it cannot be followed, there are no rows at all: a walk with a wrong
// rule is worse than one that goes by the frame pointer.
//
// Much dearer than reading call frame information (about 100 ns per instruction), so only for functions that
// have none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "abi/unwind_table.h"
#include "dwarf/compile.h"
#include "elf/elf_file.h"
#include "unwind/frame_sections.h"
#include "unwind/overlap.h"

namespace fathom::unwind {

struct PrologueRow {
  std::uint32_t offset;  // bytes from the function's start
  unwind_rule rule;      // CFA_NONE where no path leads
  bool rbp_intact;       // the register itself still holds the caller's rbp, wherever else it is saved
};

// `code` is one whole function, entered by a call at its first byte. nullopt: it could not be followed.
std::optional<std::vector<PrologueRow>> rows_from_code(std::span<const std::byte> code);

// Finds the functions that have a symbol with a size and lie in none of `covered` (sorted, disjoint), and
// adds those that could be followed to `cfi`. Returns their pieces, sorted.
std::vector<Piece> synthesize(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                              const std::vector<Piece>& covered, dwarf::RuleSet& rules,
                              dwarf::CfiFunctions& cfi);

}  // namespace fathom::unwind
