#include "inject/tracer/detach_guardian.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "base/files.h"
#include "inject/stop/raised_priority.h"
#include "inject/tracer/stale_tracer.h"
#include "process/status.h"

namespace fathom::inject {
namespace {

constexpr int kChannel = 0;  // its only descriptor
// The profiler may take a moment to die, and a thread may stay inside of the tracer: first soon again, then
// seldom, as each try stops the target.
constexpr std::uint64_t kFirstPauseNs = 20'000'000, kLongestPauseNs = 30'000'000'000;
constexpr int kTries = 30;  // some seven minutes

struct Watched {
  std::int32_t pid = 0;  // 0: all is well, end
  std::uint64_t start_ticks = 0;
};

bool same_process(const Watched& watched) {
  const auto stat = process::read_stat(watched.pid);
  return stat && stat->start_ticks == watched.start_ticks && stat->state != 'Z' && stat->state != 'X';
}

// true: nothing of ours is in it any more.
bool take_out(const Watched& watched) {
  if (!same_process(watched)) return true;
  // Not found is also a thread that ended or did not stop while it was needed: so what is mapped decides.
  const auto done = detach_stale_tracer(watched.pid);
  if (!done && done.error().kind != ErrorKind::kNotFound) return false;
  return !holder(watched.pid).has_value();
}

void take_out_all(std::vector<Watched> left) {
  for (const Watched& watched : left)
    if (same_process(watched)) put_back_priorities(watched.pid);
  std::uint64_t pause_ns = kFirstPauseNs;
  for (int attempt = 0; attempt < kTries && !left.empty(); ++attempt) {
    if (attempt > 0) {
      const timespec pause{static_cast<time_t>(pause_ns / 1'000'000'000),
                           static_cast<long>(pause_ns % 1'000'000'000)};
      ::nanosleep(&pause, nullptr);
      pause_ns = std::min(pause_ns * 3 / 2, kLongestPauseNs);
    }
    std::erase_if(left, take_out);
  }
}

[[noreturn]] void guard(int channel) {
  ::setsid();
  ::prctl(PR_SET_NAME, "fathom-guardian");
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  [[maybe_unused]] const int moved = ::chdir("/");
  if (channel != kChannel) ::dup2(channel, kChannel);
  ::syscall(SYS_close_range, kChannel + 1, ~0U, 0);

  constexpr char kReady = 1;
  if (::send(kChannel, &kReady, sizeof(kReady), MSG_NOSIGNAL) != sizeof(kReady)) ::_exit(1);
  std::vector<Watched> watched;
  for (;;) {
    Watched message;
    const ssize_t got = ::recv(kChannel, &message, sizeof(message), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof(message))) break;  // the profiler is gone
    if (message.pid == 0) ::_exit(0);
    watched.push_back(message);
  }
  try {
    take_out_all(std::move(watched));
  } catch (const std::exception&) {
    // Out of memory: `fathom detach` remains.
  }
  ::_exit(0);
}

}  // namespace

DetachGuardian::DetachGuardian(DetachGuardian&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), channel_(std::move(other.channel_)) {}

Result<DetachGuardian> DetachGuardian::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("socketpair", errno);
  Fd ours(ends[0]), its(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ours.get());
    guard(its.get());
  }
  if (pid < 0) return system_error("fork", errno);
  its = Fd();
  // Before it is in a session of its own, what is sent to our process group kills it with us.
  char ready = 0;
  ssize_t got;
  while ((got = ::recv(ours.get(), &ready, sizeof(ready), 0)) < 0 && errno == EINTR) {
  }
  if (got != sizeof(ready)) {
    ::waitpid(pid, nullptr, 0);
    return fail(ErrorKind::kSystem, "the guardian of the target ended at once");
  }
  return DetachGuardian(pid, std::move(ours));
}

void DetachGuardian::watch(int pid) {
  const auto stat = process::read_stat(pid);
  if (pid_ < 0 || !stat) return;
  const Watched message{pid, stat->start_ticks};
  (void)::send(channel_.get(), &message, sizeof(message), MSG_NOSIGNAL);
}

void DetachGuardian::dismiss() {
  const pid_t pid = std::exchange(pid_, -1);
  if (pid < 0) return;
  const Watched nothing_left;
  (void)::send(channel_.get(), &nothing_left, sizeof(nothing_left), MSG_NOSIGNAL);
  channel_ = Fd();
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace fathom::inject
