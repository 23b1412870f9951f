// Which unit of DWARF describes the code at an address. Private to this folder.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "binary/symbolize/dies.h"

namespace fathom::symbolize {

class UnitIndex {
 public:
  // Reads .debug_aranges, which may lack units. `dwarf` outlives this object.
  explicit UnitIndex(Dwarf* dwarf);
  // The offset of the unit's entry in .debug_info.
  std::optional<Dwarf_Off> find(std::uint64_t address) const;
  // From now on the index knows the units by the ranges that they state themselves. False if it did already.
  bool read_ranges_of_units();
  std::size_t memory_bytes() const { return ranges_.capacity() * sizeof(UnitRange); }

 private:
  struct UnitRange {
    AddressRange range;
    Dwarf_Off unit;
  };

  Dwarf* dwarf_;
  std::vector<UnitRange> ranges_;  // sorted by start
  bool is_complete_ = false;
};

}  // namespace fathom::symbolize
