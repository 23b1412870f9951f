#include "binary/symbolize/function_names.h"

#include <dwarf.h>

#include <algorithm>

#include "binary/symbolize/demangle.h"

namespace fathom::symbolize {

const std::vector<Dwarf_Die>& FunctionNames::children_of(Dwarf_Die& parent, SiblingWalk& walk) {
  const auto [slot, is_new] = children_.try_emplace(parent.addr);
  if (is_new)
    for (auto child = SiblingWalk::first_child(parent); child; child = walk.next(*child))
      slot->second.push_back(*child);
  return slot->second;
}

// "a::B::f" for the declaration of f, which has no linkage name: constructors that are inlined, lambdas,
// local classes. Entries do not know their parent, so the way down from the unit is found by offsets.
std::string FunctionNames::qualified_name(Dwarf_Die declaration, const std::string& name) {
  Dwarf_Die scope;
  if (dwarf_diecu(&declaration, &scope, nullptr, nullptr) == nullptr) return name;
  switch (dwarf_srclang(&scope)) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Mips_Assembler:
      return name;
    default:
      break;
  }
  auto& walk = walks_.try_emplace(scope.addr, scope).first->second;
  const auto target = dwarf_dieoffset(&declaration);
  std::string qualified;
  for (int depth = 0; depth < kDeepestScope; ++depth) {
    const auto& children = children_of(scope, walk);
    auto next = std::upper_bound(children.begin(), children.end(), target,
                                 [](Dwarf_Off offset, const Dwarf_Die& die) {
                                   Dwarf_Die copy = die;
                                   return offset < dwarf_dieoffset(&copy);
                                 });
    if (next == children.begin()) break;
    Dwarf_Die child = *--next;
    if (dwarf_dieoffset(&child) == target) return qualified + name;
    switch (dwarf_tag(&child)) {
      case DW_TAG_namespace:
        qualified += text_attribute(child, DW_AT_name).value_or("(anonymous namespace)") + "::";
        break;
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_enumeration_type: {
        const char* unnamed = name == "operator()" ? "{lambda}" : "{unnamed}";
        qualified += text_attribute(child, DW_AT_name).value_or(unnamed) + "::";
        break;
      }
      case DW_TAG_subprogram:
        if (const auto linkage = text_attribute(child, DW_AT_linkage_name))
          qualified = demangle(*linkage) + "::";
        else
          qualified += text_attribute(child, DW_AT_name).value_or("{unnamed}") + "::";
        break;
      default:
        break;
    }
    scope = child;
  }
  return name;
}

const DebugName& FunctionNames::name_of(Dwarf_Die& die) {
  // All the places that one function is inlined at have one abstract origin.
  const auto origin = reference(die, DW_AT_abstract_origin);
  const bool inlined = dwarf_tag(&die) == DW_TAG_inlined_subroutine;
  const void* key = inlined && origin ? origin->addr : die.addr;
  const auto [slot, is_new] = names_.try_emplace(key);
  DebugName& name = slot->second;
  if (!is_new) return name;
  auto linkage = text_attribute(die, DW_AT_linkage_name);
  if (!linkage) linkage = text_attribute(die, DW_AT_MIPS_linkage_name);
  if (linkage) {
    name.function = demangle(*linkage);
    name.is_linkage_name = true;
  } else if (const auto plain = text_attribute(die, DW_AT_name)) {
    Dwarf_Die declaration = origin ? *origin : die;
    if (const auto specification = reference(declaration, DW_AT_specification)) declaration = *specification;
    name.function = qualified_name(declaration, *plain);
  }
  return name;
}

const SourcePlace& FunctionNames::place_of(Dwarf_Die& die) {
  const auto [slot, is_new] = places_.try_emplace(die.addr);
  SourcePlace& place = slot->second;
  if (!is_new) return place;
  auto name = text_attribute(die, DW_AT_linkage_name);
  if (!name) name = text_attribute(die, DW_AT_MIPS_linkage_name);
  if (!name) name = text_attribute(die, DW_AT_name);
  place.function = name.value_or("");
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0;
  if (dwarf_attr_integrate(&die, DW_AT_decl_line, &attribute) != nullptr &&
      dwarf_formudata(&attribute, &line) == 0)
    place.start_line = static_cast<std::uint32_t>(line);
  return place;
}

std::size_t FunctionNames::memory_bytes() const {
  std::size_t total = 0;
  for (const auto& [key, name] : names_) total += sizeof(DebugName) + 32 + name.function.capacity();
  for (const auto& [key, place] : places_) total += sizeof(SourcePlace) + 32 + place.function.capacity();
  for (const auto& [key, children] : children_) total += children.capacity() * sizeof(Dwarf_Die) + 64;
  return total;
}

}  // namespace fathom::symbolize
