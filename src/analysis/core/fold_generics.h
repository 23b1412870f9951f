// Names as people read them: "Vec<alloc::string::String>::push" becomes "Vec<..>::push". For display only:
// the arguments are part of a function's identity, and two instances may differ in cost.
#pragma once

#include <string>
#include <string_view>

namespace fathom::analysis {

// Generic arguments of C++ and Rust names become "<..>". A Rust path in angle brackets, "<T as Trait>::f",
// stays and is folded inside; operators ("operator<", "operator->") stay. A name whose brackets do not match
// is returned as it is.
std::string fold_generics(std::string_view name);

}  // namespace fathom::analysis
