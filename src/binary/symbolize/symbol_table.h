// The function symbols of one ELF file, ready to be asked by address. Source: gABI, symbol table.
//
// Of names for the same address one is chosen, always the same: the one a reader would look for. Names stay
// where they are, in the file's bytes, which outlive the table; a symbol costs 24 bytes, so that a million
// cost no more than 24 MB.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "binary/elf/elf_file.h"

namespace fathom::symbolize {

struct FoundSymbol {
  std::string_view name;  // still mangled; a version ("@@GLIBC_2.34") is cut off
  ElfAddress start;
  bool size_known = false;  // false: it reaches to the next symbol, as nothing says where it ends
};

class SymbolTable {
 public:
  // Takes the function symbols of `file` and forgets the rest: data, files, sections, undefined ones, marks
  // of assemblers. An IFUNC symbol names its resolver's address, not the function that runs, so it is no name
  // of code; it is kept apart, to name the PLT entries that go through it. May be called for several files;
  // finish() comes last.
  void add(const elf::ElfFile& file, elf::SymbolTable table);
  void finish();

  // The innermost symbol around `address`. Symbols with a size end there; one without reaches to the next
  // symbol, but not out of its section, and not far where only exported functions have names: the next ones are missing.
  std::optional<FoundSymbol> find(ElfAddress address) const;
  std::optional<std::string_view> ifunc_at(ElfAddress resolver) const;

  template <class Visit>
  void for_each_name(Visit visit) const {
    for (const Entry& entry : entries_) visit(entry.text());
  }

  bool has_candidates() const { return !candidates_.empty(); }  // before finish()
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t address;
    const char* name;
    std::uint32_t name_length;
    std::uint32_t size;
    std::string_view text() const { return {name, name_length}; }
    bool contains(std::uint64_t other) const { return other - address < size; }
  };
  struct Range {
    std::uint64_t start, end;
  };
  struct Candidate {
    Entry entry;
    bool global, function;
  };
  static bool better(const Candidate& a, const Candidate& b);
  const Range* code_range(std::uint64_t address) const;

  std::vector<Candidate> candidates_;  // until finish()
  std::vector<Entry> entries_;         // sorted, one for each address
  std::vector<Entry> ifuncs_;
  std::vector<Range> code_;  // executable sections, else segments; sorted
  bool exported_only_ = true;
};

}  // namespace fathom::symbolize
