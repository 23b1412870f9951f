// A screen of a terminal as lines, each with its meaning, and the bytes that draw it: one look for `fathom tui`, `fathom top` and `fathom watch`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::tui {

enum class Style : std::uint8_t { kPlain, kTitle, kHead, kHot, kFaint, kCursor, kStatus };
struct ScreenLine {
  std::string text;  // no control characters; at most as wide as the screen
  Style style = Style::kPlain;
};

// As much of the start of `text` as so many columns hold.
std::string cut(const std::string& text, std::size_t width);

// The text in its style, and back to plain.
std::string styled_text(const ScreenLine& line);

// From the upper left corner on; what was below the last line is cleared. Without `color` only the cursor's row and the status line
// look different from others.
std::string drawn(const std::vector<ScreenLine>& lines, bool color);

// Writes to standard output, past its buffer: a line or a screen at a time. False: it has no reader any more.
bool put_on_output(std::string_view text);

}  // namespace fathom::tui
