// DWARF of one file -> the chain of inlined functions and their lines at an address. Entries are parsed by
// libdw (elfutils: all versions); what it lacks stands in front of it (dwarf_file.h: compressed sections, files shared by
// dwz; split_units.h: split DWARF); what is looked up again
// and again is kept here: which unit and which function an address lies in, and the tree of inlined calls of
// the function asked last. libdw's own search (dwarf_getscopes) walks the whole unit for each address, 0.6 ms
// against some microseconds.
//
// Only units that are hit are read. Not thread-safe; one thread at a time, any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"
#include "binary/symbolize/pointed_paths.h"
#include "binary/symbolize/source_place.h"

namespace fathom::symbolize {

// One function of the chain at an address.
struct DebugName {
  std::string
      function;  // demangled if the entry has a linkage name, else qualified by its scopes; may be empty
  bool is_linkage_name = false;
  std::string file;
  std::uint32_t line = 0;
};

struct DebugChain {
  std::vector<DebugName>
      names;         // innermost first; the last is the function whose code it is. Empty: nothing known
  ElfAddress entry;  // of that function, where it can be called; 0 if no function was found
};

class DebugInfo {
 public:
  // True if `file` has DWARF that is worth opening.
  static bool present(const elf::ElfFile& file);
  // `file` is what is behind `fd`, and outlives this object; `fd` is not kept. Fails when libdw refuses the
  // file.
  static Result<std::unique_ptr<DebugInfo>> open(int fd, const elf::ElfFile& file, const PointedPaths& paths);
  ~DebugInfo();

  // For ascending addresses.
  std::vector<DebugChain> find(std::span<const ElfAddress> addresses);
  // The same as compilers know them. Without a function that is known, and without a line, a chain is empty.
  std::vector<std::vector<SourcePlace>> find_places(std::span<const ElfAddress> addresses);
  // An estimate of the memory used for units that were hit: to free it, open the file again.
  std::size_t memory_bytes() const;
  // Looks for the other parts of the first units that are split.
  void check();
  // One line: what the file points to and is not there (of the units that were asked); "" if all is.
  std::string problem() const;

 private:
  class Implementation;
  explicit DebugInfo(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace fathom::symbolize
