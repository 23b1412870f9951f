// Rows from what a Go program knows of its own stacks: .gopclntab, which is there when symbols, call frame information
// and debugging information are not, as the collector needs it. For each function it says how far the stack pointer
// is from the frame's start, by instruction. Source: Go's internal/abi/symtab.go and runtime/symtab.go, versions
// 1.18 to 1.26. Bytes are untrusted: what does not add up is left out.
#pragma once

#include <cstdint>
#include <vector>

#include "dwarf/compile.h"
#include "elf/elf_file.h"
#include "unwind/frame_sections.h"

namespace fathom::unwind {

// Appends to `cfi` and returns how many functions that were. 0 for what is no Go program, or one of a version whose
// table is written otherwise.
std::uint64_t compile_go_table(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                               dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi);

}  // namespace fathom::unwind
