// What the tests of this folder share: the modules that testing/fixtures.cmake builds.
#pragma once

#include <elf.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "binary/elf/module_file.h"
#include "binary/elf/testing_elf.h"
#include "binary/symbolize/module_symbols.h"

namespace fathom::symbolize {

inline std::string fixture(const std::string& name) {
  return FATHOM_FIXTURES "/" + name;
}

// A recording's facts about a module.
inline ModuleSource source_of(const std::string& path) {
  const auto elf = elf::ModuleFile::open(path);
  return {.path = path, .identity = elf ? elf->elf().identity() : ""};
}

// Only what the modules themselves hold: nothing that is installed on this machine changes an answer.
inline Options no_debug_directories() {
  Options options;
  options.debug_directories = {};
  return options;
}

// A file with a function of 16 bytes for each symbol, from 0x1010 up.
inline bool write_program(const std::string& path, const std::vector<std::string>& mangled) {
  using elf::testing::Bytes;
  elf::testing::ElfBuilder builder;
  Bytes names(1), symbols(24);
  std::uint64_t address = 0x1000;
  for (const std::string& name : mangled) {
    const auto entry = elf::testing::symbol_entry(static_cast<std::uint32_t>(names.size()), STT_FUNC, 1,
                                                  address += 0x10, 0x10);
    elf::testing::append(symbols, entry.data(), entry.size());
    elf::testing::put_text(names, name);
    names.push_back({});
  }
  const auto text = builder.blob(Bytes(0x200, std::byte{0x90}));
  builder.segment(PT_LOAD, PF_R | PF_X, 0x1000, text);
  builder.section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, text);
  builder.section(".symtab", SHT_SYMTAB, 0, 0, builder.blob(symbols), 3, 24);
  builder.section(".strtab", SHT_STRTAB, 0, 0, builder.blob(names));
  const Bytes bytes = builder.build();
  return write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}).has_value();
}

}  // namespace fathom::symbolize
