// A fact of each program that was recorded: which compilers made it. Two recordings of one source may differ by that alone.
#pragma once

#include <string>
#include <string_view>

namespace fathom::model {

// The key of the fact about the program at `path`.
inline std::string compilers_fact(std::string_view path) {
  return "compilers." + std::string(path);
}

}  // namespace fathom::model
