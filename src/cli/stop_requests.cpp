#include "cli/stop_requests.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace fathom::cli {
namespace {

// What a person or a supervisor sends to end a program.
constexpr std::array kRequests{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
// Signals that end a program by default; their sender does not mean the launched command.
constexpr std::array kOthers{SIGUSR1, SIGUSR2,   SIGALRM, SIGVTALRM, SIGPROF,
                             SIGXCPU, SIGSTKFLT, SIGPOLL, SIGPWR};

bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

StopRequests::StopRequests(bool launches) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : kRequests)
    // nohup ignores SIGHUP deliberately. A script's shell ignores SIGINT and SIGQUIT for background commands,
    // but a signal sent to us explicitly is deliberate, too.
    if (signal != SIGHUP || !is_ignored(signal)) ::sigaddset(&signals, signal);
  for (const int signal : kOthers)
    if (!is_ignored(signal)) ::sigaddset(&signals, signal);
  sigset_t blocked = signals;
  ::sigaddset(&blocked, SIGTTOU);  // a line of ours from the background is no reason to stop
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &pipe_before_);
  ::sigaction(SIGXFSZ, &ignore, &file_size_before_);
  fd_ = Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (launches) witness_.emplace();
}

StopRequests::~StopRequests() {
  signalfd_siginfo info;
  while (::read(fd_.get(), &info, sizeof(info)) == sizeof(info)) {
  }
  undo_in_child();
}

void StopRequests::undo_in_child() const {
  ::sigaction(SIGPIPE, &pipe_before_, nullptr);
  ::sigaction(SIGXFSZ, &file_size_before_, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

// Asks the witness in any case: what is pending there must not be taken for the next signal.
bool StopRequests::has_got(pid_t command, int signal) {
  const bool group = witness_ && witness_->group_received(signal);
  return group && ::getpgid(command) == ::getpgrp();  // it may have made a group of its own
}

std::optional<StopRequests::Received> StopRequests::take(std::optional<pid_t> command) {
  signalfd_siginfo info;
  if (::read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  Received received;
  received.signal = static_cast<int>(info.ssi_signo);
  received.request.at_once = std::ranges::find(kRequests, received.signal) == std::end(kRequests);
  const bool pass_on = !received.request.at_once && command && !has_got(*command, received.signal);
  received.request.pass_on = pass_on ? received.signal : 0;
  return received;
}

}  // namespace fathom::cli
