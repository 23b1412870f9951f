#include "binary/symbolize/dies.h"

#include <dwarf.h>

namespace fathom::symbolize {

std::vector<AddressRange> ranges_of(Dwarf_Die& die, std::size_t limit) {
  std::vector<AddressRange> ranges;
  Dwarf_Addr base = 0, start = 0, end = 0;
  std::size_t seen = 0;
  for (ptrdiff_t position = 0; seen < limit; ++seen) {
    position = dwarf_ranges(&die, position, &base, &start, &end);
    if (position <= 0) break;
    if (start != 0 && start < end) ranges.push_back({start, end});
  }
  return ranges;
}

SiblingWalk::SiblingWalk(Dwarf_Die unit) {
  // The abbreviations of a unit follow one another; the end mark has length 1. A unit has some hundred of
  // them.
  has_references_ = false;
  Dwarf_Off offset = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::size_t length = 0;
    Dwarf_Abbrev* abbreviation = dwarf_getabbrev(&unit, offset, &length);
    if (abbreviation == nullptr || abbreviation == reinterpret_cast<Dwarf_Abbrev*>(-1L)) break;
    offset += length;
    std::size_t attributes = 0;
    if (dwarf_getattrcnt(abbreviation, &attributes) != 0) break;
    for (std::size_t j = 0; j < attributes && j < 1000; ++j) {
      unsigned name = 0, form = 0;
      if (dwarf_getabbrevattr(abbreviation, j, &name, &form, nullptr) != 0) break;
      if (name != DW_AT_sibling) continue;
      has_references_ = true;
      return;
    }
  }
}

std::optional<Dwarf_Die> SiblingWalk::first_child(Dwarf_Die& die) {
  Dwarf_Die child;
  if (dwarf_child(&die, &child) != 0) return std::nullopt;
  return child;
}

bool SiblingWalk::points_forward(Dwarf_Die& die, Dwarf_Attribute& sibling) {
  Dwarf_Die target;
  switch (dwarf_whatform(&sibling)) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
      break;
    default:
      return false;
  }
  return dwarf_formref_die(&sibling, &target) != nullptr && dwarf_dieoffset(&target) > dwarf_dieoffset(&die);
}

std::optional<Dwarf_Die> SiblingWalk::next(Dwarf_Die& die, int depth) {
  if (has_references_ && !unsound_) {
    Dwarf_Attribute attribute;
    if (dwarf_attr(&die, DW_AT_sibling, &attribute) != nullptr) {
      unsound_ = !points_forward(die, attribute);
    } else if (dwarf_haschildren(&die) == 1) {
      // The last entry of its parent: libdw is going to walk its children, so they are walked with care
      // first.
      if (depth >= kDeepestScope) unsound_ = true;
      for (auto child = first_child(die); child && !unsound_;) child = next(*child, depth + 1);
    }
  }
  Dwarf_Die sibling;
  if (unsound_ || dwarf_siblingof(&die, &sibling) != 0) return std::nullopt;
  return sibling;
}

std::optional<std::uint64_t> unsigned_attribute(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(&die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0)
    return std::nullopt;
  return value;
}

std::optional<std::string> text_attribute(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(&die, name, &attribute) == nullptr) return std::nullopt;
  const char* text = dwarf_formstring(&attribute);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return text;
}

std::optional<Dwarf_Die> reference(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Die target;
  if (dwarf_attr(&die, name, &attribute) == nullptr || dwarf_formref_die(&attribute, &target) == nullptr)
    return std::nullopt;
  return target;
}

}  // namespace fathom::symbolize
