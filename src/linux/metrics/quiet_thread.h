// A thread that gets no signals: threads with handlers, or a descriptor for signals, get all of them.
#pragma once

#include <signal.h>

#include <thread>
#include <utility>

namespace fathom::metrics {

template <class Function>
std::thread quiet_thread(Function&& function) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::forward<Function>(function));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace fathom::metrics
