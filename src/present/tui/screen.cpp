#include "present/tui/screen.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "present/text/character_width.h"

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

std::string cut(const std::string& text, std::size_t width) {
  std::size_t at = 0, columns = 0;
  while (at < text.size()) {
    const present::Character next = present::first_character(std::string_view(text).substr(at));
    if (columns + next.columns > width) break;
    columns += next.columns;
    at += next.bytes;
  }
  return text.substr(0, at);
}

std::string styled_text(const ScreenLine& line) {
  return fmt::format("{}{}\x1b[0m", escape_of(line.style), line.text);
}

std::string drawn(const std::vector<ScreenLine>& lines, bool color) {
  std::string out = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool marked = color || lines[i].style == Style::kCursor || lines[i].style == Style::kStatus;
    out += fmt::format("\x1b[{};1H", i + 1);
    out += styled_text({lines[i].text, marked ? lines[i].style : Style::kPlain});
    out += "\x1b[K";
  }
  return out + "\x1b[J";
}

bool put_on_output(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace fathom::tui
