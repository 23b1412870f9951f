// A fact of each recorded Rust program: the crate of its main(). The file may be renamed and main() need not be sampled, and yet
// which code is the program's own must not depend on either.
#pragma once

#include <string>
#include <string_view>

namespace fathom::model {

// The key of the fact about the module at `path`.
inline std::string main_crate_fact(std::string_view path) {
  return "main_crate." + std::string(path);
}

}  // namespace fathom::model
