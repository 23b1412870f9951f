// The crate that a Rust program is made of: that of its own main(), which its symbol table names whether a sample lies in it
// or not. Pure.
#pragma once

#include <string_view>

namespace fathom::symbolize {

// The crate of a mangled "CRATE::main", in Rust's legacy or v0 mangling; "" for any other symbol. The view lies in `mangled`.
std::string_view main_crate_of(std::string_view mangled);

}  // namespace fathom::symbolize
