// Linker names of GHC -> names of Haskell: "zdmain_Main_zdwgo_info" is Main.$wgo. GHC's Z-encoding writes each character that
// an assembler does not take as two: "zi" is a dot, "zd" a dollar. Described in the GHC commentary, "Symbol names".
#pragma once

#include <string>
#include <string_view>

namespace fathom::symbolize {

// "" unless it is the code of a Haskell function and cannot be anything else: C has names that end in "_info", too. The package is dropped; a
// local function keeps the number that distinguishes it: "Main.go (s1Kx)".
std::string haskell_name(std::string_view linker_name);

}  // namespace fathom::symbolize
