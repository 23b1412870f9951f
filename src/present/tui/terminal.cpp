#include "present/tui/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/files.h"

namespace fathom::tui {
namespace {

// The other screen, the cursor hidden, clicks and the wheel reported (1000, 1006); and back, with colours off.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[2J\x1b[?1000h\x1b[?1006h";
constexpr std::string_view kLeave = "\x1b[?1006l\x1b[?1000l\x1b[0m\x1b[?25h\x1b[?1049l";

// What a signal handler needs to put the terminal back. One terminal, so one of these.
struct Saved {
  volatile sig_atomic_t active = 0;
  volatile sig_atomic_t resized = 0;
  int keys = -1;
  termios before{};
};
Saved saved;

void put_back() {
  if (saved.active == 0) return;
  saved.active = 0;
  (void)!::write(STDOUT_FILENO, kLeave.data(), kLeave.size());
  (void)::tcsetattr(saved.keys, TCSAFLUSH, &saved.before);
}

void on_end(int signal) {
  put_back();
  (void)::signal(signal, SIG_DFL);
  (void)::raise(signal);
}

void on_resize(int) {
  saved.resized = 1;
}

class RawTerminal {
 public:
  static constexpr std::array<int, 5> kEnds = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT};

  explicit RawTerminal(int keys) {
    if (::tcgetattr(keys, &saved.before) != 0) return;
    saved.keys = keys;
    termios raw = saved.before;
    // Ctrl-C comes as a signal, so that it also ends long operations. Ctrl-Z and Ctrl-S do nothing: stopping
    // here would leave an unusable terminal.
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
    raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VSUSP] = _POSIX_VDISABLE;
    struct sigaction action {};
    ::sigemptyset(&action.sa_mask);
    action.sa_handler = on_end;
    for (std::size_t i = 0; i < kEnds.size(); ++i) ::sigaction(kEnds[i], &action, &ends_before_[i]);
    action.sa_handler = on_resize;
    ::sigaction(SIGWINCH, &action, &resize_before_);
    action.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &action, &pipe_before_);
    ready_ = true;
    saved.active = 1;
    if (::tcsetattr(keys, TCSAFLUSH, &raw) != 0) saved.active = 0;
    active_ = saved.active != 0 && put_on_output(kEnter);
  }
  ~RawTerminal() {
    put_back();
    if (!ready_) return;
    for (std::size_t i = 0; i < kEnds.size(); ++i) ::sigaction(kEnds[i], &ends_before_[i], nullptr);
    ::sigaction(SIGWINCH, &resize_before_, nullptr);
    ::sigaction(SIGPIPE, &pipe_before_, nullptr);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  bool active() const { return active_; }

 private:
  std::array<struct sigaction, kEnds.size()> ends_before_{};
  struct sigaction resize_before_ {
  }, pipe_before_{};
  bool ready_ = false, active_ = false;
};

std::pair<std::size_t, std::size_t> screen_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {std::min<std::size_t>(size.ws_col, 1000), std::min<std::size_t>(size.ws_row, 1000)};
}

// OSC 52: terminals that know it put the text where a paste takes it from; others ignore it.
std::string to_clipboard(const std::string& text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out = "\x1b]52;c;";
  for (std::size_t i = 0; i < text.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (i + j < text.size() ? static_cast<unsigned char>(text[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      out += i + j <= text.size() ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return out + "\x07";
}

Result<Fd> open_keys() {
  const int fd = ::isatty(STDIN_FILENO) == 1 ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                             : ::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return fail(ErrorKind::kUsage, "there is no terminal to read keys from", "fathom report FILE");
  return Fd(fd);
}

}  // namespace

Result<> check_terminal() {
  const char* term = std::getenv("TERM");
  if (::isatty(STDOUT_FILENO) != 1)
    return fail(ErrorKind::kUsage, "fathom tui needs a terminal, and standard output is none",
                "fathom report FILE");
  if (term == nullptr || *term == '\0' || std::string_view(term) == "dumb")
    return fail(ErrorKind::kUsage, "this terminal cannot move its cursor (TERM)", "fathom report FILE");
  const Result<Fd> keys = open_keys();
  if (!keys) return tl::unexpected(keys.error());
  return {};
}

Result<> run_in_terminal(Browser& browser, bool color) {
  const Result<Fd> keys = open_keys();
  if (!keys) return tl::unexpected(keys.error());
  const RawTerminal terminal(keys->get());
  if (!terminal.active()) return fail(ErrorKind::kSystem, "the terminal cannot be set up");
  KeyReader reader;
  std::string last;
  for (bool redraw = true; !browser.done();) {
    if (redraw) {
      const auto [width, height] = screen_size();
      std::string screen = drawn(browser.draw(width, height), color);
      if (screen != last && !put_on_output(screen)) return {};
      last = std::move(screen);
      if (const auto copied = browser.take_copied()) (void)put_on_output(to_clipboard(*copied));
    }
    redraw = false;
    pollfd wait{keys->get(), POLLIN, 0};
    // A resize between here and the wait is seen by the next look.
    const int ready = ::poll(&wait, 1, reader.waiting() ? 50 : 250);
    if (std::exchange(saved.resized, 0) != 0) {
      last.clear();
      redraw = true;
    }
    if (ready < 0 && errno != EINTR) return system_error("the terminal", errno);
    std::vector<Key> pressed;
    if (ready > 0) {
      std::array<char, 512> bytes;
      const ssize_t count = ::read(keys->get(), bytes.data(), bytes.size());
      if (count == 0 || (count < 0 && errno != EINTR)) return {};  // the terminal is gone
      if (count > 0) pressed = reader.feed(std::string_view(bytes.data(), static_cast<std::size_t>(count)));
    } else if (ready == 0 && reader.waiting()) {
      pressed = reader.pause();
    }
    for (const Key& key : pressed) {
      if (key.kind == KeyKind::kRedraw) last.clear();
      browser.press(key);
      redraw = true;
      if (browser.done()) break;
    }
  }
  return {};
}

}  // namespace fathom::tui
