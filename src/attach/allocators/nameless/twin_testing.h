// For tests: compares findings in a stripped program with the names in its unstripped twin.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "attach/allocators/nameless/candidate.h"
#include "binary/elf/module_file.h"

namespace fathom::allocators::nameless {

// By name; none of a file that is not there.
inline std::map<std::string, ElfAddress> functions_of(const std::string& path) {
  std::map<std::string, ElfAddress> found;
  const auto file = elf::ModuleFile::open(path);
  if (!file) return found;
  for (const elf::Symbol& symbol : file->elf().symbols(elf::SymbolTable::kSymtab))
    if (symbol.section != 0) found.emplace(std::string(symbol.name), symbol.address);
  return found;
}

inline bool holds(const std::vector<Candidate>& all, ElfAddress address) {
  return std::ranges::any_of(all, [&](const Candidate& each) { return each.address == address; });
}

inline std::vector<ElfAddress> addresses_of(const std::vector<Candidate>& all) {
  std::vector<ElfAddress> found;
  for (const Candidate& each : all) found.push_back(each.address);
  return found;
}

}  // namespace fathom::allocators::nameless
