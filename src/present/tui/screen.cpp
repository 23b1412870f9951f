#include "present/tui/screen.h"

#include <fmt/format.h>

#include <string_view>

namespace fathom::tui {

static std::string_view escape_of(Style style) {
  switch (style) {
    case Style::kTitle:
      return "\x1b[1m";
    case Style::kHead:
      return "\x1b[4m";
    case Style::kHot:
      return "\x1b[1;31m";
    case Style::kFaint:
      return "\x1b[2m";
    case Style::kCursor:
    case Style::kStatus:
      return "\x1b[7m";
    case Style::kPlain:
      break;
  }
  return "";
}

std::string drawn(const std::vector<ScreenLine>& lines, bool color) {
  std::string out = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool marked = color || lines[i].style == Style::kCursor || lines[i].style == Style::kStatus;
    const std::string_view escape = marked ? escape_of(lines[i].style) : "";
    out += fmt::format("\x1b[{};1H", i + 1);
    out += escape;
    out += lines[i].text;
    out += "\x1b[0m\x1b[K";
  }
  return out + "\x1b[J";
}

}  // namespace fathom::tui
