// The entries of a jemalloc whose names were stripped, from the code of the program that it was linked into. Pure.
// Source: jemalloc 5.2 to 5.3.1 as compiled by gcc and clang; nothing of it is compared byte by byte, as each compiler
// makes other bytes of the same source.
//
// Four kinds of evidence: the library's own messages, and who names them; its quick path, which compares the size with
// 4096, looks it up in two tables, and leaves by one jump only; all that touches the data of these, which is the
// library; and who of it is called from elsewhere. In Rust programs the four functions that hand a request on
// (__rust_alloc and its kin) say which is which.
//
// What is labelled here is likely, and not sure: nothing is to be changed in a process by it alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attach/allocators/find.h"
#include "attach/allocators/nameless/candidate.h"
#include "base/address.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::allocators::nameless {

struct JemallocEntries {
  std::string version;  // "5.3.0"; "" if the file does not say
  // What the quick path of malloc looks into, two of which are the tables of sizes: of 513 bytes and of 232 words, filled
  // when the library begins.
  std::vector<ElfAddress> tables;
  std::vector<Candidate> candidates;  // ascending by address: all ways into the library from outside of it
  std::vector<CodeRange> own_code;    // of the library, ascending and apart
  std::uint32_t messages = 0;         // functions that name messages of the library
  const Candidate* labelled(Role role) const;  // null: none, or several
};

// kNotFound: the file has no jemalloc. kUnsupported: it has one, and why its entries are ambiguous.
Result<JemallocEntries> find_jemalloc_entries(const elf::ElfFile& file);

}  // namespace fathom::allocators::nameless
