#include "linux/process/guardian_process.h"

#include <fmt/format.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/files.h"

namespace fathom::process {
namespace {

constexpr char kReady = 1;
// Time for a guardian without work to end; a stopped one is killed after it.
constexpr std::uint64_t kPatienceNs = 2'000'000'000;

// A message that is shorter or longer is none.
bool receive_whole(int channel, void* message, std::size_t size) {
  ssize_t got;
  // With MSG_TRUNC it returns the message's real length; else only how much of it fitted.
  while ((got = ::recv(channel, message, size, MSG_TRUNC)) < 0 && errno == EINTR) {
  }
  return got == static_cast<ssize_t>(size);
}

// false: the other side is gone.
bool stand_apart(int channel) {
  ::setsid();
  ::prctl(PR_SET_NAME, "fathom-guardian");
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  [[maybe_unused]] const int moved = ::chdir("/");
  if (channel != GuardianProcess::kChannel) ::dup2(channel, GuardianProcess::kChannel);
  ::syscall(SYS_close_range, GuardianProcess::kChannel + 1, ~0U, 0);
  return ::send(GuardianProcess::kChannel, &kReady, sizeof(kReady), MSG_NOSIGNAL) == sizeof(kReady);
}

}  // namespace

GuardianProcess::GuardianProcess(GuardianProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), channel_(std::move(other.channel_)) {}

Result<GuardianProcess> GuardianProcess::start(std::string_view whose, void (*guard)()) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("socketpair", errno);
  Fd ours(ends[0]), its(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ours.get());
    if (stand_apart(its.get())) guard();
    ::_exit(1);
  }
  if (pid < 0) return system_error("fork", errno);
  its = Fd();
  // Before it is in a session of its own, what is sent to our process group kills it with us.
  char ready = 0;
  if (!receive_whole(ours.get(), &ready, sizeof(ready))) {
    ::waitpid(pid, nullptr, 0);
    return fail(ErrorKind::kSystem, fmt::format("the guardian of {} ended at once", whose));
  }
  return GuardianProcess(pid, std::move(ours));
}

bool GuardianProcess::send(const void* message, std::size_t size) const {
  return ::send(channel_.get(), message, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

bool GuardianProcess::receive(void* message, std::size_t size) {
  return receive_whole(kChannel, message, size);
}

void GuardianProcess::leave() {
  channel_ = Fd();
  pid_ = -1;
}

void GuardianProcess::wait() {
  channel_ = Fd();
  const pid_t pid = std::exchange(pid_, -1);
  const auto has_ended = [&] {
    const pid_t ended = ::waitpid(pid, nullptr, WNOHANG);
    return ended == pid || (ended < 0 && errno != EINTR);
  };
  const timespec short_while{0, 200'000}, longer{0, 5'000'000};
  const std::uint64_t begun = monotonic_ns();
  bool killed = false;
  for (std::uint64_t waited = 0; !has_ended(); waited = monotonic_ns() - begun) {
    if (waited >= kPatienceNs && !std::exchange(killed, true)) ::kill(pid, SIGKILL);
    // Not even that helps while the kernel keeps it in a call.
    if (waited >= 2 * kPatienceNs) return;
    ::nanosleep(waited < 20'000'000 ? &short_while : &longer, nullptr);
  }
}

}  // namespace fathom::process
