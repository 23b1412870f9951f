#include "cli/notices.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/fd.h"

namespace fathom::cli {
namespace {

constexpr int kPatienceMs = 3000;
constexpr std::size_t kAtomic = 512;  // no pipe that poll() calls writable has less room

// While it lives, a broken pipe is an error of the write, and a terminal takes lines from the background,
// too.
class WithoutSignals {
 public:
  WithoutSignals() {
    ::sigemptyset(&ours_);
    ::sigaddset(&ours_, SIGPIPE);
    ::sigaddset(&ours_, SIGTTOU);
    ::sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  }
  ~WithoutSignals() {
    if (!was_pending_) {
      ::sigset_t pipe;
      ::sigemptyset(&pipe);
      ::sigaddset(&pipe, SIGPIPE);
      const timespec at_once{};
      while (::sigtimedwait(&pipe, nullptr, &at_once) > 0) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  ::sigset_t ours_, before_;
  bool was_pending_ = false;
};

// Standard error, opened once more: O_NONBLOCK set on the descriptor itself would hold for everybody who
// shares it, the launched command and the shell among them. Empty: there is no need to, or no way.
Fd opened_once_more() {
  struct stat status {};
  if (::fstat(STDERR_FILENO, &status) != 0) return Fd();
  if (!S_ISFIFO(status.st_mode) && ::isatty(STDERR_FILENO) == 0) return Fd();
  return Fd(::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

ssize_t write_some(int fd, std::string_view text) {
  const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent >= 0 || errno != ENOTSOCK ? sent : ::write(fd, text.data(), text.size());
}

// A reader that was this slow once is not waited for again.
bool g_reader_is_gone = false;

void write_all(std::string_view text, int patience_ms) {
  if (g_reader_is_gone) patience_ms = 0;
  const WithoutSignals guard;
  const Fd own = opened_once_more();
  const int fd = own ? own.get() : STDERR_FILENO;
  while (!text.empty()) {
    pollfd ready{fd, POLLOUT, 0};
    const int found = ::poll(&ready, 1, patience_ms);
    if (found < 0 && errno == EINTR) continue;
    if (found == 0 && patience_ms != 0) g_reader_is_gone = true;
    if (found <= 0 || (ready.revents & POLLOUT) == 0) return;
    const ssize_t count = write_some(fd, text.substr(0, own ? text.size() : std::min(text.size(), kAtomic)));
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      if (patience_ms == 0) return;
      ::poll(nullptr, 0, 10);  // room, but less than one write of this kind needs
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace

void notice_now(std::string_view text) {
  write_all(text, 0);
}

void notice(std::string_view text) {
  write_all(text, kPatienceMs);
}

bool somebody_looks() {
  return ::isatty(STDERR_FILENO) == 1 && ::tcgetpgrp(STDERR_FILENO) == ::getpgrp();
}

}  // namespace fathom::cli
