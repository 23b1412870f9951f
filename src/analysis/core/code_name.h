// Whose code a function is, read off its demangled name: the crate of Rust, the outermost namespace of C++.
#pragma once

#include <string_view>

namespace fathom::analysis {

// "alloc::vec::Vec<T>::push" -> "alloc", "void std::vector<int>::resize(unsigned long)" -> "std". A class
// without a namespace ("Cache::put(int)") is none, as far as its look tells: a capital letter, or a constructor. In
// "<T as Trait>::f" it is the crate of T; of Trait where T has none, as generics and primitive types do.
// Empty for functions that are in nothing: "main", "malloc", a namespace without a name, "[libc.so.6+0x10]". Part of `name`.
std::string_view crate_of(std::string_view name);

}  // namespace fathom::analysis
