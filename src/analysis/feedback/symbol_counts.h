// Samples by function symbol and offset, under the names that BOLT gives functions. Pure but for the file, which is mapped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/feedback/code_samples.h"
#include "binary/elf/elf_file.h"

namespace fathom::feedback {

struct SymbolCount {
  std::string symbol;
  std::uint64_t offset = 0;  // bytes from the symbol's start
  std::int64_t samples = 0;
  auto operator<=>(const SymbolCount&) const = default;
};

struct SymbolCounts {
  std::vector<SymbolCount> rows;  // by address
  std::int64_t samples = 0;       // of the rows
  std::int64_t without_symbol =
      0;  // in no function that has a symbol, a size and a name of one line; with `samples`: all that were given
};

// A global function has its symbol's name. A local one is "NAME/FILE/N": the N-th by address of those that have this name in a
// source file of this name; "NAME/N" if the symbol table has no name of a file (llvm-project, bolt/lib/Rewrite, reading of
// symbols).
SymbolCounts symbol_counts(const elf::ElfFile& file, const std::vector<AddressCount>& samples);

}  // namespace fathom::feedback
