// Whether a file can name functions that it does not export.
#pragma once

#include "binary/elf/elf_file.h"

namespace fathom::symbolize {

inline bool has_names(const elf::ElfFile& file) {
  return file.section(".symtab") != nullptr || file.debug_section(".debug_info") != nullptr;
}

}  // namespace fathom::symbolize
