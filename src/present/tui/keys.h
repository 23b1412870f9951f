// Bytes of a terminal -> keys. Pure. Source: ECMA-48 5.4 and what xterm, the Linux console and rxvt send for
// cursor and paging keys, and its reports of the mouse (SGR 1006). Unknown sequences are swallowed whole, never taken for letters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::tui {

enum class KeyKind : std::uint8_t {
  kText,  // text: one character
  kUp,
  kDown,
  kLeft,
  kRight,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kEnter,
  kTab,
  kBackTab,
  kBackspace,
  kEscape,
  kInterrupt,  // Ctrl-C, Ctrl-D
  kRedraw,     // Ctrl-L
  kClick,      // the left button
  kWheelUp,
  kWheelDown,
};
struct Key {
  KeyKind kind = KeyKind::kText;
  std::string text = {};
  std::size_t row = 0, column = 0;  // of a click, from 0
  bool operator==(const Key&) const = default;
};

class KeyReader {
 public:
  // Bytes of a sequence that is not complete are kept for the next call.
  std::vector<Key> feed(std::string_view bytes);
  // Nothing follows for now: an escape that waits was the key.
  std::vector<Key> pause();
  bool waiting() const { return !rest_.empty(); }

 private:
  std::string rest_;
};

}  // namespace fathom::tui
