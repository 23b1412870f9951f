// What the names of a module are worth, in words: reports and fathom doctor say the same.
#pragma once

#include <string_view>

#include "model/profile.h"

namespace fathom::present {

// "none", "dynsym", "symtab", "dwarf", "kallsyms", "perf-map", "pseudo": for JSON and narrow columns.
std::string_view to_string(model::SymbolSource source);
// "no names found" ...: the text next to a module's name.
std::string_view describe(model::SymbolSource source);
// "lines and inlined calls": what a report lacks of a module; "" if nothing.
std::string_view missing_of(model::SymbolSource source);
// "has exported names only": to follow the name of a module without all its names.
std::string_view lack_of(model::SymbolSource source);

}  // namespace fathom::present
