// A place in the source as compilers know it: what profiles are made of that compilers read.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace fathom::symbolize {

// One function of the chain of inlined calls at an address.
struct SourcePlace {
  std::string function;             // as the linker knows it, not demangled; empty if unknown
  std::uint32_t start_line = 0;     // where the function is declared; 0 if unknown
  std::uint32_t line = 0;           // of the instruction, or of the call that was inlined there; 0 if unknown
  std::uint32_t discriminator = 0;  // the part of a line, as the compiler numbers them
  auto operator<=>(const SourcePlace&) const = default;
};

}  // namespace fathom::symbolize
