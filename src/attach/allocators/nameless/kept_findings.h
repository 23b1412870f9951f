// Findings about a file, as bytes cached between recordings, because searching 100 MB of code takes half a
// second. Pure.
//
// File: magic, XXH3 of all that follows; the stamp, which identifies the file and the version of the search;
// the findings as varints. A damaged file or one with another stamp counts as missing.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/allocators/nameless/jemalloc_entries.h"
#include "attach/allocators/nameless/library_code.h"
#include "base/varint.h"

namespace fathom::allocators::nameless {

// Of a library whose functions have to be tried: what was to be tried, and to which doors which ways lead.
struct LibraryFindings {
  std::vector<Candidate> candidates;
  std::vector<ElfAddress> doors;
  LibraryCode::WaysIn ways;
};

// One of the three.
struct Findings {
  std::string refusal;  // kUnsupported, and why; empty: there is one of the others
  std::optional<JemallocEntries> jemalloc;
  std::optional<LibraryFindings> library;
};

Bytes encode(const Findings& findings, std::string_view stamp);
// Untrusted bytes. nullopt: not what encode() wrote with that stamp.
std::optional<Findings> decode(std::span<const std::byte> bytes, std::string_view stamp);

}  // namespace fathom::allocators::nameless
