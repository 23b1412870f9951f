// A function name in folded stacks: a semicolon or a line break would end it.
#pragma once

#include <string>
#include <string_view>

namespace fathom::present {

inline void append_name(std::string& line, std::string_view name) {
  if (name.empty()) name = "[unknown]";
  for (const char c : name)
    line += c == ';' ? ':' : static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
}

}  // namespace fathom::present
