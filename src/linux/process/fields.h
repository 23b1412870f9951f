// Takes text of the kernel apart: lines, and fields between blanks. Views into the text; nothing is copied. Numbers: base/parse.h.
#pragma once

#include <string>
#include <string_view>

#include "base/parse.h"

namespace fathom::process {

// Takes the next line off `text`, without its newline; the last line may lack one. False when nothing is
// left.
inline bool next_line(std::string_view& text, std::string_view& line) {
  if (text.empty()) return false;
  const std::size_t end = text.find('\n');
  line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return true;
}

inline bool is_blank(char character) {
  return character == ' ' || character == '\t';
}

// Loops, as find_first_of() calls memchr() for each character: most of the time that kallsyms took.
inline void skip_blanks(std::string_view& text) {
  std::size_t first = 0;
  while (first < text.size() && is_blank(text[first])) ++first;
  text.remove_prefix(first);
}

// Takes the next run of characters other than blanks off `line`; empty at its end.
inline std::string_view next_field(std::string_view& line) {
  skip_blanks(line);
  std::size_t size = 0;
  while (size < line.size() && !is_blank(line[size])) ++size;
  const std::string_view field = line.substr(0, size);
  line.remove_prefix(size);
  return field;
}

// The kernel writes newlines and backslashes inside names as "\n", "\\" or in octal ("\012").
inline std::string unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i + 1);
    if (text[i] == '\\' && rest.size() >= 3 && rest[0] >= '0' && rest[0] <= '3') {
      if (const auto value = parse_number<unsigned>(rest.substr(0, 3), 8)) {
        out += static_cast<char>(*value);
        i += 3;
        continue;
      }
    }
    if (text[i] == '\\' && !rest.empty() && (rest[0] == 'n' || rest[0] == '\\')) {
      out += rest[0] == 'n' ? '\n' : '\\';
      ++i;
      continue;
    }
    out += text[i];
  }
  return out;
}

}  // namespace fathom::process
