// Walking DWARF entries (DIEs) with libdw when the bytes may be hostile: no loop, no recursion and no list is
// longer than what a compiler writes. Private to this folder.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fathom::symbolize {

struct AddressRange {
  std::uint64_t start, end;
  bool contains(std::uint64_t address) const { return address >= start && address < end; }
};

// The address ranges of an entry; at most `limit`. Empty, inverted and discarded ones (start 0) are left out.
std::vector<AddressRange> ranges_of(Dwarf_Die& die, std::size_t limit);

// Iterates over the children of one unit's entries. dwarf_siblingof() follows DW_AT_sibling wherever it
// points, so a backward reference makes it loop forever; here, each reference is checked first.
class SiblingWalk {
 public:
  explicit SiblingWalk(Dwarf_Die unit);
  static std::optional<Dwarf_Die> first_child(Dwarf_Die& die);
  std::optional<Dwarf_Die> next(Dwarf_Die& die) { return next(die, 0); }

 private:
  static bool points_forward(Dwarf_Die& die, Dwarf_Attribute& sibling);
  std::optional<Dwarf_Die> next(Dwarf_Die& die, int depth);

  bool has_references_ = true;  // some abbreviation of the unit has a DW_AT_sibling
  bool unsound_ = false;        // a bad reference was met: the walk is over for the whole unit
};

// Compilers nest scopes a few dozen deep. Beyond, the rest is left out.
constexpr int kDeepestScope = 100;

std::optional<std::uint64_t> unsigned_attribute(Dwarf_Die& die, unsigned name);
// The attribute of this entry or of the one that it is an instance of.
std::optional<std::string> text_attribute(Dwarf_Die& die, unsigned name);
std::optional<Dwarf_Die> reference(Dwarf_Die& die, unsigned name);

}  // namespace fathom::symbolize
