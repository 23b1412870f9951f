// From what a user calls a function to the places in files at which its calls begin and end. Pure: looks at files that are open
// already, and touches no process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/arch/common/function_ends.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"
#include "binary/probes/wish.h"
#include "binary/unwind/table.h"

namespace fathom::probes {

// A file whose code the target has mapped. What it points to outlives the search.
struct Module {
  std::string_view path;  // as the target sees it
  const elf::ElfFile* file = nullptr;
  const unwind::Table* table = nullptr;  // null: it is made where it is needed
  const elf::ElfFile* names = nullptr;   // its separate debug file, where it has no symbol table of its own
};

// One piece of code that is the function: a compiler may have made several copies of it.
struct Place {
  ElfAddress entry;
  FileOffset entry_offset;
  struct End {
    FileOffset offset;
    arch::FunctionEnd what;
  };
  std::vector<End> ends;  // empty: not known
};

struct Found {
  std::size_t module = 0;  // of those that were given
  std::string name;        // as people write it
  std::vector<Place> places;
  // Why its calls are counted and not timed, as the end of a sentence; empty: they are timed.
  std::string untimed;
  bool restarts = false;  // it jumps to its own start, which counts as a call
};

// kNotFound where there is none (with names that are similar) or where there are several (with all of them).
Result<Found> find_function(std::span<const Module> modules, const Wish& wish);

}  // namespace fathom::probes
