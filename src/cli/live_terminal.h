// The terminal of a command that refreshes one screen and obeys single keys: `fathom top` and `fathom watch`.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "present/tui/screen.h"

namespace fathom::cli {

// Reads keys one by one without echo and draws on the terminal's alternate screen, until it is destroyed. The caller must handle the
// signals that end the command before it makes one, because a signal that kills leaves the terminal as it is.
class LiveTerminal {
 public:
  LiveTerminal();
  ~LiveTerminal();
  LiveTerminal(const LiveTerminal&) = delete;
  LiveTerminal& operator=(const LiveTerminal&) = delete;

  // Standard input and output are a terminal that can move its cursor, and the command runs in its foreground.
  static bool is_there();
  // False: there is no such terminal. The screen and its settings are as before, and no key comes.
  bool active() const { return active_; }
  std::pair<std::size_t, std::size_t> size() const;  // columns, rows
  // False: the terminal is gone.
  bool draw(const std::vector<tui::ScreenLine>& lines) const;
  // The keys typed since the last call; "" if there were none.
  std::string read_keys() const;

 private:
  termios before_{};
  bool active_ = false;
};

}  // namespace fathom::cli
