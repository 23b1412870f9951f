// Whose code a function is, read off its demangled name: the crate of Rust, the outermost namespace of C++.
#pragma once

#include <string_view>

namespace fathom::analysis {

// "alloc::vec::Vec<T>::push" -> "alloc", "void std::vector<int>::resize(unsigned long)" -> "std". A class
// without a namespace ("Cache::put(int)") does not count; it is recognized by a capital letter or a
// constructor. In "<T as Trait>::f" it is the crate of T, or of Trait if T has none, like generics and
// primitive types. Empty for functions without a scope: "main", "malloc", an unnamed namespace,
// "[libc.so.6+0x10]". Part of `name`.
std::string_view crate_of(std::string_view name);

}  // namespace fathom::analysis
