// What the tests of this folder share: the modules that testing/fixtures.cmake builds.
#pragma once

#include <string>

#include "binary/elf/module_file.h"
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

}  // namespace fathom::symbolize
