#include "attach/inject/stop/guardian.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/files.h"

namespace fathom::inject {
namespace {

constexpr int kAlive = 0, kTarget = 1;  // its only descriptors

// After a fork in a multi-threaded process only system calls are safe.
[[noreturn]] void watch(int alive, int target) {
  // dup2 must not overwrite a descriptor that is still needed.
  const int from = ::fcntl(alive, F_DUPFD, 10), to = ::fcntl(target, F_DUPFD, 10);
  ::dup2(from, kAlive);
  ::dup2(to, kTarget);
  // Keeps none of the parent's descriptors open: neither pipes that other processes wait for, nor perf
  // events.
  ::syscall(SYS_close_range, 2, ~0u, 0);
  char byte;
  ssize_t got;
  while ((got = ::read(kAlive, &byte, 1)) < 0 && errno == EINTR) {
  }
  if (got == 0) ::syscall(SYS_pidfd_send_signal, kTarget, SIGCONT, nullptr, 0);
  ::_exit(0);
}

}  // namespace

Guardian::Guardian(Guardian&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), alive_(std::move(other.alive_)) {}

Result<Guardian> Guardian::of(int pid) {
  const Fd target(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (target.get() < 0) return system_error(fmt::format("process {}: pidfd_open", pid), errno);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe", errno);
  Fd read_end(ends[0]), write_end(ends[1]);
  // A keyboard interrupt of the profiler (SIGINT to the whole group) must not end the guardian: it learns
  // from the pipe that the profiler has exited.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t guardian = ::fork();
  if (guardian == 0) {
    ::close(write_end.get());
    watch(read_end.get(), target.get());
  }
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (guardian < 0) return system_error("fork", error);
  return Guardian(guardian, std::move(write_end));
}

void Guardian::dismiss() {
  const pid_t pid = std::exchange(pid_, -1);
  if (pid < 0) return;
  [[maybe_unused]] const auto written = ::write(alive_.get(), "", 1);
  alive_ = Fd();
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace fathom::inject
