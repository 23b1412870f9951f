// Lines of what doctor prints. Names of processes, files and allocators in them are the target's, and doctor is often root's:
// nothing but text reaches the terminal, and one line stays one line.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "analysis/core/words.h"

namespace fathom::doctor {

template <class... Arguments>
void append_line(std::string& out, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  out += analysis::printable(fmt::format(format, std::forward<Arguments>(arguments)...)) + '\n';
}

}  // namespace fathom::doctor
