// Names in folded text, which has no escapes.
#pragma once

#include <string>
#include <string_view>

#include "analysis/core/words.h"

namespace fathom::present {

// What would end the frame or the line, or command a terminal, is replaced. A line that began with '#' or "//" would be a comment, and
// one that began with a blank a message.
inline void append_folded_name(std::string& line, std::string_view name) {
  if (name.empty()) name = "[unknown]";
  std::string clean;
  clean.reserve(name.size());
  for (const char c : name)
    clean += c == ';' ? ':' : static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  if (line.empty() && (clean.starts_with('#') || clean.starts_with("//") || clean.starts_with(' ')))
    line += '.';
  line += analysis::printable(clean);
}

}  // namespace fathom::present
