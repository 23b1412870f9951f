// Names for the procedure linkage table: small jumps through the GOT that have no symbols. Source: the
// psABI, and the layouts of ld, gold, lld and mold. Instead of knowing the layouts, each entry's jump is
// decoded: the GOT slot that it goes through is in a relocation, and the relocation knows the function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "binary/elf/elf_file.h"
#include "binary/symbolize/symbol_table.h"

namespace fathom::symbolize {

struct PltEntry {
  ElfAddress start;
  std::uint64_t size = 0;  // bytes
  std::string name;        // still mangled, without "@plt"
};

// Sorted. `symbols` names the resolvers of a static binary's IFUNCs. Empty for other processors than that of
// base/arch/facts.h,
// and for files without section headers.
std::vector<PltEntry> plt_entries(const elf::ElfFile& file, const SymbolTable& symbols);

}  // namespace fathom::symbolize
