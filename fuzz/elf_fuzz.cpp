// Any bytes as an ELF file: every query of a module's reader must be answered or rejected.
#include <cstdint>
#include <span>

#include "binary/elf/elf_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom::elf;
  const auto file = ElfFile::parse(std::as_bytes(std::span(data, size)), "fuzz");
  if (!file) return 0;
  for (const Segment& segment : file->segments()) {
    (void)file->address_of(segment.offset);
    (void)file->bytes_at(segment.address, segment.file_size);
    (void)file->bytes_from(segment.address);
  }
  for (const Section& section : file->sections()) (void)file->contents(section);
  (void)file->symbols(SymbolTable::kSymtab);
  (void)file->symbols(SymbolTable::kDynsym);
  (void)file->debug_link();
  (void)file->identity();
  return 0;
}
