#include "base/abandonable.h"

#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <exception>
#include <thread>

namespace fathom {
namespace {

std::atomic<int> running = 0;

}  // namespace

bool run_detached(std::function<void()> work) {
  if (running.fetch_add(1) >= kMostAbandonable) {
    running.fetch_sub(1);
    return false;
  }
  // A thread begins with the signals of the one that starts it.
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigdelset(&all,
              SIGBUS);  // of a file that is cut short while it is mapped: blocked, it would end the program
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  bool begun = true;
  try {
    std::thread([work = std::move(work)]() mutable {
      // Urgency is the starter's. Of Linux's threads each has a priority of its own.
      if (::getpriority(PRIO_PROCESS, 0) < 0) (void)::setpriority(PRIO_PROCESS, 0, 0);
      work();
      work = nullptr;
      running.fetch_sub(1);
    }).detach();
  } catch (const std::exception&) {  // no thread to be had, or no memory
    running.fetch_sub(1);
    begun = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return begun;
}

}  // namespace fathom
