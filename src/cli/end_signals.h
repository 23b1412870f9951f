// The signals that end a command which waits for them (SIGINT, SIGTERM, SIGHUP), held back while the object lives: no thread
// that starts meanwhile takes one.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <chrono>

namespace fathom::cli {

class EndSignals {
 public:
  EndSignals() {
    ::sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set_, signal);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~EndSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  void wait() const {
    int signal = 0;
    ::sigwait(&set_, &signal);
  }
  // Whether one came within `time`, which is below a second.
  bool wait(std::chrono::nanoseconds time) const {
    const timespec limit{0, static_cast<long>(time.count())};
    return ::sigtimedwait(&set_, nullptr, &limit) > 0;
  }
  // What a child must have.
  const sigset_t& before() const { return before_; }

 private:
  sigset_t set_{}, before_{};
};

}  // namespace fathom::cli
