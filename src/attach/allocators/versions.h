// What the strings of a file say about the allocators in it.
#pragma once

#include <string>

#include "attach/allocators/symbols.h"
#include "binary/elf/elf_file.h"

namespace fathom::allocators {

// "5.3.0", "2.36", "2.0.9"; "" if the file does not say.
std::string jemalloc_version(const elf::ElfFile& file);
std::string glibc_version(const elf::ElfFile& file);
std::string mimalloc_version(const elf::ElfFile& file, const Symbols& symbols);
std::string gperftools_version(const elf::ElfFile& file);

// Messages that only the allocator itself has.
bool holds_jemalloc_messages(const elf::ElfFile& file);
bool holds_mimalloc_messages(const elf::ElfFile& file);
bool holds_tcmalloc_messages(const elf::ElfFile& file);

}  // namespace fathom::allocators
