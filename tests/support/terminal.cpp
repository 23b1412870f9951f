#include "support/terminal.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "support/command.h"

namespace fathom::support {

Terminal::Terminal(const std::vector<std::string>& arguments) {
  std::vector<char*> list;
  for (const std::string& argument : arguments) list.push_back(const_cast<char*>(argument.c_str()));
  list.push_back(nullptr);
  int master = -1;
  const winsize size{.ws_row = 50, .ws_col = 400, .ws_xpixel = 0, .ws_ypixel = 0};
  pid_ = forkpty(&master, nullptr, nullptr, &size);
  if (pid_ < 0) throw std::runtime_error("forkpty: " + std::string(std::strerror(errno)));
  if (pid_ == 0) {
    execvp(list[0], list.data());
    _exit(127);
  }
  master_ = Fd(master);
  fcntl(master, F_SETFD, FD_CLOEXEC);
  fcntl(master, F_SETFL, O_NONBLOCK);
}

Terminal::~Terminal() {
  if (pid_ < 0) return;
  if (master_) {
    const pid_t front = tcgetpgrp(master_.get());
    if (front > 0) kill(-front, SIGKILL);
  }
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Terminal::type(std::string_view keys) {
  [[maybe_unused]] const ssize_t written = write(master_.get(), keys.data(), keys.size());
}

const std::string& Terminal::screen() {
  std::array<char, 4096> chunk;
  ssize_t got;
  while (master_ && (got = read(master_.get(), chunk.data(), chunk.size())) > 0)
    screen_.append(chunk.data(), static_cast<std::size_t>(got));
  return screen_;
}

bool Terminal::wait_for(std::string_view text, std::chrono::milliseconds limit) {
  return wait_until(
      [&] {
        const std::size_t at = screen().find(text, seen_);
        if (at == std::string::npos) return false;
        seen_ = at + text.size();
        return true;
      },
      limit);
}

int Terminal::wait(std::chrono::milliseconds limit) {
  int status = 0;
  const bool ended = wait_until(
      [&] {
        screen();  // writing to a terminal without a reader blocks
        return waitpid(pid_, &status, WNOHANG) == pid_;
      },
      limit);
  if (!ended) return -1;
  screen();
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace fathom::support
