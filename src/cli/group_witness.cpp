#include "cli/group_witness.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace fathom::cli {
namespace {

constexpr int kLine = 0;         // its only descriptor
constexpr int kAnswerMs = 1000;  // it does nothing else; only a machine that is full makes it late
constexpr int kTimeToEndMs = 5000;
// The sender goes through the group one by one: it may have come to us first.
constexpr int kAsks = 4;
constexpr timespec kBetweenAsks{.tv_sec = 0, .tv_nsec = 1'000'000};

// A question is the number of a signal, the answer whether it was pending; it is not any more then.
[[noreturn]] void bear_witness(int line, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  ::prctl(PR_SET_NAME, "fathom-witness");
  ::dup2(line, kLine);
  // It keeps none of our descriptors open: neither pipes with a waiting reader, nor the terminal.
  ::syscall(SYS_close_range, 1, ~0u, 0);
  unsigned char signal = 0;
  for (;;) {
    const ssize_t got = ::read(kLine, &signal, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got != 1) ::_exit(0);
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, signal);
    const timespec at_once{};
    const unsigned char pending = ::sigtimedwait(&one, nullptr, &at_once) == signal ? 1 : 0;
    if (::send(kLine, &pending, 1, MSG_NOSIGNAL) != 1) ::_exit(0);
  }
}

}  // namespace

GroupWitness::GroupWitness() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  Fd ours(ends[0]), its(ends[1]);
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) bear_witness(its.get(), parent);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return;
  pid_ = pid;
  line_ = std::move(ours);
}

GroupWitness::~GroupWitness() {
  if (pid_ < 0) return;
  // It ends by itself then: who records the whole machine sees no kill. Not close(): children that were forked since have a copy.
  ::shutdown(line_.get(), SHUT_RDWR);
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd ended{process.get(), POLLIN, 0};
  if (process.get() < 0 || ::poll(&ended, 1, kTimeToEndMs) != 1) ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool GroupWitness::group_received(int signal) {
  if (pid_ < 0 || ::getpgid(pid_) != ::getpgrp()) return false;
  for (int ask = 0; ask < kAsks; ++ask) {
    if (ask != 0) ::nanosleep(&kBetweenAsks, nullptr);
    const auto question = static_cast<unsigned char>(signal);
    if (::send(line_.get(), &question, 1, MSG_NOSIGNAL) != 1) return false;
    pollfd ready{line_.get(), POLLIN, 0};
    unsigned char answer = 0;
    if (::poll(&ready, 1, kAnswerMs) != 1 || ::read(line_.get(), &answer, 1) != 1) return false;
    if (answer == 1) return true;
  }
  return false;
}

}  // namespace fathom::cli
