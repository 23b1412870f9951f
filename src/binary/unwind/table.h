// The unwind table of one module, in the form of base/abi/unwind_table.h: what the walkers search, made from the
// module's call frame information. Rows and rules are the module's own; code that joins modules into one
// array shifts their numbers. Source: .eh_frame, .debug_frame, and the prologues of functions that have
// neither.
//
// Pure: no I/O but the reading of a mapped file. A Table is immutable once built and may be shared by
// threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/abi/unwind_table.h"
#include "base/address.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::unwind {

struct Table {
  std::vector<unwind_row> rows;  // rows[0] is CFA_NONE at the start of the first page
  std::vector<unwind_page> pages;
  std::vector<unwind_rule> rules;  // rules[0] is CFA_NONE; numbers as in the rows
  std::uint64_t page_base = 0;     // ELF address >> UNWIND_PAGE_SHIFT of pages[0]

  std::uint64_t fdes = 0;          // functions whose call frame information is in the table
  std::uint64_t skipped = 0;       // functions' entries that could not be used
  std::uint64_t unsupported = 0;   // rows whose rule cannot be expressed
  std::uint64_t synthesized = 0;   // functions whose rows were made from their code
  std::uint64_t go_functions = 0;  // that Go's own table of the program describes
  std::uint64_t guessed = 0;       // functions that were looked for in bare code, and their rows made from it
};

struct TableOptions {
  // Make rows that the file does not have: for functions with a symbol and no call frame information, and for the ends of walks
  // where the stack of a context begins.
  bool synthesize = true;
  // Look for functions in code that has neither, and make rows for them.
  bool guess = true;
};

// Of executables, shared objects and vdso images for this processor (base/arch/facts.h); anything else is kUnsupported. A module without
// any call frame information gives an empty table, and a broken one the rows that could be read.
Result<Table> build_table(const elf::ElfFile& file, const TableOptions& options = {});

// What the walkers find for a lookup address. nullopt: outside of the table, or CFA_NONE.
std::optional<unwind_rule> find_rule(const Table& table, ElfAddress address);

// Start and size in bytes of every function that has call frame information, sorted, each start once: stable
// names for code without symbols.
std::vector<std::pair<ElfAddress, std::uint64_t>> function_bounds(const elf::ElfFile& file);

}  // namespace fathom::unwind
