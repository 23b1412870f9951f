// Names of functions from their DWARF entries. All places at which a function is inlined share its name, so each name is found once
// and kept. Private to this folder.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "binary/symbolize/debug_info.h"
#include "binary/symbolize/dies.h"
#include "binary/symbolize/source_place.h"

namespace fathom::symbolize {

class FunctionNames {
 public:
  // `die`: a function, or a call that was inlined. Without file and line. The reference holds as long as this object.
  const DebugName& name_of(Dwarf_Die& die);
  // As compilers know the function: the name for the linker, and the line at which it begins.
  const SourcePlace& place_of(Dwarf_Die& die);
  std::size_t memory_bytes() const;  // an estimate

 private:
  std::string qualified_name(Dwarf_Die declaration, const std::string& name);
  const std::vector<Dwarf_Die>& children_of(Dwarf_Die& parent, SiblingWalk& walk);

  std::unordered_map<const void*, DebugName> names_;  // by the address of the entry
  std::unordered_map<const void*, SourcePlace> places_;
  std::unordered_map<const void*, SiblingWalk> walks_;
  std::unordered_map<const void*, std::vector<Dwarf_Die>> children_;
};

}  // namespace fathom::symbolize
