// Rows from a Go program's own stack data: .gopclntab, which remains when symbols, call frame information and
// debug information are missing, because the garbage collector needs it. For each function it gives the
// distance of the stack pointer from the frame's start, by instruction. Source: Go's internal/abi/symtab.go
// and runtime/symtab.go, versions 1.18 to 1.26. Bytes are untrusted: inconsistent entries are skipped.
#pragma once

#include <cstdint>
#include <vector>

#include "binary/dwarf/compile.h"
#include "binary/elf/elf_file.h"
#include "binary/unwind/frame_sections.h"

namespace fathom::unwind {

// Appends to `cfi` and returns how many functions that were. 0 for what is no Go program, or one of a version whose
// table is written otherwise.
std::uint64_t compile_go_table(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                               dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi);

}  // namespace fathom::unwind
