// Compares the entries found in a stripped program with the names in its unstripped twin.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "attach/inject/trial/library_trial.h"
#include "binary/elf/module_file.h"

namespace fathom::inject {

// `names_for`: names of functions with a role. Each entry has one of these; `at_least` are among the entries'
// names.
inline void expect_entries(const std::string& twin_path, const Result<LibraryTrial>& found,
                           std::set<std::string> (*names_for)(allocators::nameless::Role),
                           const std::vector<std::string>& at_least) {
  const auto twin = elf::ModuleFile::open(twin_path);
  ASSERT_TRUE(twin);
  ASSERT_TRUE(found) << found.error().message;
  std::multimap<std::uint64_t, std::string> names;
  for (const elf::Symbol& symbol : twin->elf().symbols(elf::SymbolTable::kSymtab))
    if (symbol.section != 0) names.emplace(symbol.address.value, symbol.name);
  std::set<std::string> seen;
  for (const TriedEntry& each : found->trial.entries) {
    const auto [begin, end] = names.equal_range(each.candidate.address.value);
    bool right = false;
    std::string all;
    for (auto at = begin; at != end; ++at) {
      std::string name = at->second;
      if (name.starts_with("__libc_")) name.erase(0, 7);
      all += name + " ";
      right |= names_for(each.role).contains(name);
      seen.insert(std::move(name));
    }
    EXPECT_TRUE(right) << all << "is taken for " << allocators::nameless::name_of(each.role);
  }
  for (const std::string& name : at_least) EXPECT_TRUE(seen.contains(name)) << name;
}

}  // namespace fathom::inject
