// Which compilers and linkers made a file: each leaves a text in .comment, such as "GCC: (Debian 12.2.0-14) 12.2.0" or "rustc
// version 1.79.0 (129f3b996 2024-06-10)". strip keeps the section.
#pragma once

#include <string>

#include "binary/elf/elf_file.h"

namespace fathom::elf {

// The first four different texts, joined by ", "; "" if there is none. As in the file, so not yet printable.
std::string compilers_of(const ElfFile& file);

}  // namespace fathom::elf
