// Address ranges of an entry of split DWARF, of which the file alone does not say where they begin: base address and address
// table are in the skeleton. Sources: DWARF 5 sections 2.17.3 and 7.25; DWARF 4 with GNU's split extension. Pure; bytes are
// untrusted. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "binary/symbolize/dies.h"

namespace fathom::symbolize {

struct RangeTables {
  unsigned version = 5;  // of the unit
  std::span<const std::byte>
      lists;  // .debug_rnglists.dwo of the unit; before DWARF 5, .debug_ranges from its base on
  std::span<const std::byte> addresses;  // of .debug_addr, from the unit's base on; 8 bytes each
  std::uint64_t base = 0;                // where the unit's code begins
};

// The list at `offset` of the section. At most `limit`; empty, inverted and discarded ones (start 0) are left out, and so is
// what follows an entry that is not understood.
std::vector<AddressRange> range_list(const RangeTables& tables, std::uint64_t offset, std::size_t limit);
// Of DW_FORM_rnglistx: offset of the list of that number.
std::optional<std::uint64_t> range_list_offset(const RangeTables& tables, std::uint64_t number);

}  // namespace fathom::symbolize
