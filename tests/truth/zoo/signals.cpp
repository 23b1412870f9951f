// Signal handlers that work for a while: on the interrupted stack and on one of their own. The signal comes
// from a timer, so it hits any instruction, even inside a prologue.
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <memory>

#include "zoo.h"

ZOO_FUNCTION void zoo_signal_handler(int) {
  zoo_burn(100'000);
}
ZOO_FUNCTION void zoo_alternate_handler(int) {
  zoo_burn(100'000);
}

ZOO_FUNCTION std::uint64_t zoo_interrupted(std::uint64_t rounds) {
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) value += zoo_burn(100);
  return value;
}

namespace {

// Sends a signal to this thread every millisecond, as long as this object exists.
class ThreadTimer {
 public:
  explicit ThreadTimer(int signal_number) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal_number;
    event._sigev_un._tid = gettid();
    timer_create(CLOCK_MONOTONIC, &event, &timer_);
    const itimerspec every_ms{{0, 1'000'000}, {0, 1'000'000}};
    timer_settime(timer_, 0, &every_ms, nullptr);
  }
  ~ThreadTimer() { timer_delete(timer_); }
  ThreadTimer(const ThreadTimer&) = delete;
  ThreadTimer& operator=(const ThreadTimer&) = delete;

 private:
  timer_t timer_{};
};

void handle(int signal_number, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | flags;
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

namespace zoo {

void scene_signal(Deadline deadline) {
  handle(SIGUSR1, zoo_signal_handler, 0);
  const ThreadTimer timer(SIGUSR1);
  while (!passed(deadline)) zoo_interrupted(500);
}

void scene_alternate_stack(Deadline deadline) {
  constexpr std::size_t kSize = 256 * 1024;
  const auto memory = std::make_unique<char[]>(kSize);
  stack_t own{};
  own.ss_sp = memory.get();
  own.ss_size = kSize;
  stack_t before{};
  sigaltstack(&own, &before);
  handle(SIGUSR2, zoo_alternate_handler, SA_ONSTACK);
  {
    const ThreadTimer timer(SIGUSR2);
    while (!passed(deadline)) zoo_interrupted(500);
  }
  // A signal may still be pending; it is delivered at the end of the next system call, while the stack still
  // exists.
  usleep(1000);
  sigaltstack(&before, nullptr);
}

}  // namespace zoo
