// Where a unit describes its functions: one quick pass over the bytes of its entries. libdw looks attributes up one by one and
// takes a hundred nanoseconds and more for an entry that is only passed by, and of a unit of megabytes nearly all are. Pure;
// bytes are untrusted. Source: DWARF 5 sections 7.5 and 7.5.3. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fathom::symbolize {

struct EntrySections {
  std::span<const std::byte> info;           // .debug_info
  std::span<const std::byte> abbreviations;  // .debug_abbrev
};

enum class EntryScopes {
  kTop,  // at the top of the unit, and in namespaces (Rust): nearly all functions
  kAll,  // also in types, functions and blocks
};

// Offsets in .debug_info of the entries of functions that have code, ascending. `unit` is the offset of the unit's header.
// nullopt: something in it is not understood (a split unit, a form of a vendor, damage), and somebody else is to be asked.
std::optional<std::vector<std::uint64_t>> code_entries(const EntrySections& sections, std::uint64_t unit,
                                                       EntryScopes scopes);

}  // namespace fathom::symbolize
