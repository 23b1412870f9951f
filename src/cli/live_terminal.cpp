#include "cli/live_terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "cli/output.h"

namespace fathom::cli {

bool LiveTerminal::is_there() {
  const char* name = std::getenv("TERM");
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1 || name == nullptr ||
      std::string_view(name) == "dumb")
    return false;
  // In the background (`&`), setting up the terminal would stop the command. -1: a terminal without job control.
  const pid_t foreground = ::tcgetpgrp(STDIN_FILENO);
  return foreground < 0 || foreground == ::getpgrp();
}

LiveTerminal::LiveTerminal() {
  if (!is_there() || ::tcgetattr(STDIN_FILENO, &before_) != 0) return;
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // Ctrl-Z would leave the shell an unusable terminal
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  active_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) == 0;
  if (active_) tui::put_on_output("\x1b[?1049h\x1b[?25l\x1b[2J");
}

LiveTerminal::~LiveTerminal() {
  if (!active_) return;
  tui::put_on_output("\x1b[0m\x1b[?25h\x1b[?1049l");
  (void)::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
}

std::pair<std::size_t, std::size_t> LiveTerminal::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

bool LiveTerminal::draw(const std::vector<tui::ScreenLine>& lines) const {
  return tui::put_on_output(tui::drawn(lines, output_has_color()));
}

std::string LiveTerminal::read_keys() const {
  std::array<char, 64> keys;
  const ssize_t count = active_ ? ::read(STDIN_FILENO, keys.data(), keys.size()) : 0;
  return {keys.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

}  // namespace fathom::cli
