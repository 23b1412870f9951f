// The words of a file that a loader fills with addresses of the file itself.
#pragma once

#include <vector>

#include "base/address.h"
#include "binary/elf/elf_file.h"

namespace fathom::allocators {

struct FilledWord {
  ElfAddress word, holds;
  auto operator<=>(const FilledWord&) const = default;
};

// Those that hold one of `wanted` (ascending), by a relocation of any kind: relative, packed relative, or
// against a symbol that this file defines. Ascending, each word once. Found through the dynamic section, so
// also without section headers; a file without one has none.
std::vector<FilledWord> words_holding(const elf::ElfFile& file, const std::vector<ElfAddress>& wanted);

}  // namespace fathom::allocators
