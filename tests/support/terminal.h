// A program at a terminal of its own: what it writes is kept, keys are typed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace fathom::support {

class Terminal {
 public:
  // Throws std::runtime_error when there is no terminal to be had.
  explicit Terminal(const std::vector<std::string>& arguments);
  ~Terminal();  // the program is killed with its whole session's foreground group
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  static constexpr std::string_view kCtrlC = "\x03", kCtrlZ = "\x1a", kCtrlD = "\x04";
  void type(std::string_view keys);
  // All that was written so far, by the program and as echo.
  const std::string& screen();
  // False: it was not written before the limit. The text is looked for after what an earlier call found.
  bool wait_for(std::string_view text, std::chrono::milliseconds limit = std::chrono::milliseconds(20'000));
  // Hangs up, as when a window is closed.
  void close() { master_ = Fd(); }
  // The exit status, 128 + signal, or -1 when the limit was over.
  int wait(std::chrono::milliseconds limit);
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  Fd master_;
  std::string screen_;
  std::size_t seen_ = 0;
};

}  // namespace fathom::support
