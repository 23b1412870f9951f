// The symbols of one file and its twin that could name an allocator's functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attach/allocators/find.h"
#include "binary/elf/elf_file.h"

namespace fathom::allocators {

struct NamedFunction {
  std::string_view name;  // without a version
  ElfAddress address;
  std::uint64_t size;  // 0: not said
  bool local;          // this name may stand for something else in another source file
  bool indirect;       // STT_GNU_IFUNC: what is at the address only chooses the function
};

// The views point into the files, which outlive it.
class Symbols {
 public:
  Symbols(const elf::ElfFile& file, const elf::ElfFile* twin, std::vector<std::string>& notes);

  // Defined in the file, and in its code. Prefers a global one to a local one; returns none of several local
  // ones with different addresses, because the choice would be ambiguous.
  const NamedFunction* find(std::string_view name) const;
  bool has(std::string_view name) const { return by_name_.contains(name); }
  const std::unordered_map<std::string_view, NamedFunction>& interesting() const { return by_name_; }

  // Only exported names exist: the file's other functions have no known names.
  bool exported_only() const { return !names_inner_; }
  // Whether there is any function symbol but imports.
  bool any_function() const { return any_function_; }
  // Distance to the next symbol in the same code, for functions without a size; 0 if there is none.
  std::uint64_t distance_to_next(ElfAddress address) const;
  // The functions of [start, end) with their names, ascending.
  std::vector<elf::Symbol> functions_between(ElfAddress start, ElfAddress end) const;
  // [first, last] of the functions for which `mine` is true.
  template <class Mine>
  void for_each_function(Mine&& visit) const {
    for (const auto* table : {&symtab_, &dynsym_})
      for (const elf::Symbol& symbol : *table)
        if (is_function(symbol)) visit(symbol);
  }

 private:
  static bool is_function(const elf::Symbol& symbol);
  void collect(const elf::ElfFile& file, const std::vector<elf::Symbol>& table);

  std::vector<elf::Symbol> symtab_, dynsym_;
  std::unordered_map<std::string_view, NamedFunction> by_name_;
  bool any_function_ = false, names_inner_ = false;
};

// Whether `twin` is of the same build: by build id where both have one, else by the segments.
bool same_build(const elf::ElfFile& file, const elf::ElfFile& twin);

// Whether the address lies in code that the file stores.
bool in_code(const elf::ElfFile& file, ElfAddress address);

}  // namespace fathom::allocators
