#include "limit/group_guardian.h"

#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "limit/memory_group.h"

namespace fathom::limit {
namespace {

constexpr int kChannel = 0;           // its only descriptor
constexpr int kPatienceMs = 120'000;  // memory of a large process takes its time to be freed

enum class Order : std::uint8_t { kEnd, kWatch, kForget, kHeldFor };

struct Message {
  Order order = Order::kEnd;
  int version = 0;
  int ms = 0;
  char directory[4096] = {};
};

void let_go(const Message& watched) {
  const std::string folder = watched.directory;
  if (watched.version == 2) {
    (void)write_control(folder + "/memory.high", "max").has_value();
    (void)write_control(folder + "/cgroup.freeze", "0").has_value();
  } else {
    (void)write_control(folder + "/memory.oom_control", "0").has_value();
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
  Message watched;
  bool watches = false;
  std::uint64_t let_go_at_ns = 0;
  for (;;) {
    int wait_ms = -1;
    if (let_go_at_ns != 0) {
      const std::uint64_t now = monotonic_ns();
      wait_ms = now >= let_go_at_ns ? 0 : static_cast<int>((let_go_at_ns - now) / 1'000'000 + 1);
    }
    pollfd ready{kChannel, POLLIN, 0};
    if (::poll(&ready, 1, wait_ms) == 0) {
      let_go_at_ns = 0;
      if (watches) let_go(watched);
      continue;
    }
    Message message;
    const ssize_t got = ::recv(kChannel, &message, sizeof(message), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof(message))) break;  // the profiler is gone
    if (message.order == Order::kEnd) ::_exit(0);
    if (message.order == Order::kWatch) {
      watched = message;
      watches = true;
    }
    if (message.order == Order::kForget) watches = false;
    if (message.order == Order::kHeldFor)
      let_go_at_ns =
          message.ms == 0 ? 0 : monotonic_ns() + static_cast<std::uint64_t>(message.ms) * 1'000'000;
  }
  try {
    if (watches) (void)remove_group(watched.version, watched.directory, kPatienceMs);
  } catch (const std::exception&) {
    // Out of memory: the group stays, empty or not, and its name says whose it is.
  }
  ::_exit(0);
}

}  // namespace

GroupGuardian::GroupGuardian(GroupGuardian&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), channel_(std::move(other.channel_)) {}

Result<GroupGuardian> GroupGuardian::start() {
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
    return fail(ErrorKind::kSystem, "the guardian of the control group ended at once");
  }
  return GroupGuardian(pid, std::move(ours));
}

Result<> GroupGuardian::watch(int version, const std::string& directory) {
  Message message;
  message.order = Order::kWatch;
  message.version = version;
  if (directory.size() >= sizeof(message.directory))
    return fail(ErrorKind::kUnsupported, directory + ": too long a path");
  std::memcpy(message.directory, directory.data(), directory.size());
  if (::send(channel_.get(), &message, sizeof(message), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(sizeof(message)))
    return system_error("the guardian of the control group", errno);
  return {};
}

void GroupGuardian::forget() {
  Message message;
  message.order = Order::kForget;
  (void)::send(channel_.get(), &message, sizeof(message), MSG_NOSIGNAL);
}

void GroupGuardian::held_for(int ms) {
  Message message;
  message.order = Order::kHeldFor;
  message.ms = ms;
  (void)::send(channel_.get(), &message, sizeof(message), MSG_NOSIGNAL);
}

void GroupGuardian::dismiss() {
  const pid_t pid = std::exchange(pid_, -1);
  if (pid < 0) return;
  const Message nothing_left;
  (void)::send(channel_.get(), &nothing_left, sizeof(nothing_left), MSG_NOSIGNAL);
  channel_ = Fd();
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace fathom::limit
