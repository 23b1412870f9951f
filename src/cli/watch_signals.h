// What wakes fathom watch between two readings: the next reading's time, a signal, a key.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/fd.h"

namespace fathom::cli {

// SIGINT and similar signals end the watch, SIGWINCH redraws; all are read, so that none interrupts a line.
class WatchSignals {
 public:
  WatchSignals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) ::sigaddset(&set, signal);
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &pipe_before_);
    fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~WatchSignals() {
    ::sigaction(SIGPIPE, &pipe_before_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WatchSignals(const WatchSignals&) = delete;
  WatchSignals& operator=(const WatchSignals&) = delete;

  enum class Wake : std::uint8_t { kTime, kResize, kKeys, kEnd };
  // `keys`: the terminal that keys come from, or -1.
  Wake wait_until(std::uint64_t until_ns, int keys) {
    for (;;) {
      const std::uint64_t now = monotonic_ns();
      if (now >= until_ns) return Wake::kTime;
      pollfd ready[] = {{fd_.get(), POLLIN, 0}, {keys, POLLIN, 0}};
      const std::uint64_t left_ms = (until_ns - now + 999'999) / 1'000'000;
      if (::poll(ready, 2, static_cast<int>(std::min<std::uint64_t>(left_ms, 3'600'000))) <= 0) continue;
      signalfd_siginfo info;
      Wake wake = Wake::kTime;
      while (::read(fd_.get(), &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo != SIGWINCH) return Wake::kEnd;
        wake = Wake::kResize;
      }
      if (wake == Wake::kResize) return wake;
      if ((ready[1].revents & ~POLLIN) != 0) return Wake::kEnd;  // the terminal is gone
      if (ready[1].revents != 0) return Wake::kKeys;
    }
  }

 private:
  sigset_t before_;
  struct sigaction pipe_before_ {};
  Fd fd_;
};

}  // namespace fathom::cli
