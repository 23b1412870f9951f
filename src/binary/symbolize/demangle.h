// Linker names -> names as people write them. Itanium C++, Rust legacy (its hash is dropped) and Rust v0,
// through libiberty; Haskell (haskell_name.h). Generic arguments and parameter types stay: they distinguish functions. Pure; any
// thread; never fails.
//
// Symbol names come from files that may be hostile: input and output are bounded, and so are time and
// recursion.
#pragma once

#include <string>
#include <string_view>

namespace fathom::symbolize {

// The name of the function in the source.
//   - A name that is not mangled is returned unchanged.
//   - Suffixes that a compiler appends to a copy or a piece of one function are dropped, because debug
//     information uses the same name:
//     .llvm.NUMBER, .cold, .isra.N, .constprop.N, .lto_priv.N. A piece that is called like a function of its
//     own stays separate: "f(int) [clone .part.0]".
//   - A mangled name that cannot be demangled keeps its readable beginning, and what makes it unique:
//     "parse::.. [_Z5parseITk5Inputi6ReaderEvT_T0_]", and a long one "boost::spirit::.. [_Z, 9120 characters,
//     #0123456789abcdef]".
// Uses up to 2 MB of stack for hostile names.
std::string demangle(std::string_view mangled);

// The same for a name that another tool has written down, which may have demangled it in its own way: Rust's hash
// ("parse::h0bfa24a8d6483291") and what a compiler appended ("f(int) [clone .isra.0]") are dropped as above. Only what the linker
// alone would call so is changed: a name of another language stays as it is.
std::string source_name(std::string_view written);

// Compilers that move a static function into another unit's reach number it: "work.llvm.123", "work.lto_priv.0",
// "work.__uniq.45". Two such numbers of one name are two functions. Both empty where there is none.
struct UnitSuffix {
  std::string_view name, number;  // "work", ".llvm.123"
};
UnitSuffix unit_suffix(std::string_view mangled);

}  // namespace fathom::symbolize
