// Programs whose kind of problem is known: problem_kinds KIND SECONDS. In each, irrelevant threads do the
// usual work of real programs, next to the one cause that limits it.
//
//   pool       main computes, eight threads of a pool wait for work that never comes
//   joined     main waits for a thread that computes
//   keepers    main computes, five threads sleep for a moment again and again
//   spin       two threads spin until a third sets a flag, which sleeps in between
//   asleep     it only waits for a timer
//   held       a thread sleeps while it holds a lock that another one wants
//   contended  eight threads compute with one lock
//   stuck      two threads want each other's lock
//   idle       an event loop without events, and a pool without work
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point g_end;
std::mutex g_lock, g_other;
std::condition_variable g_work;
std::atomic<unsigned long> g_sum;

bool goes_on() {
  return Clock::now() < g_end;
}

void pause_for(std::chrono::microseconds time) {
  std::this_thread::sleep_for(time);
}

[[gnu::noipa]] void computes(std::chrono::microseconds time) {
  const auto end = Clock::now() + time;
  unsigned long value = g_sum;
  while (Clock::now() < end)
    for (int i = 0; i < 1000; ++i) value = value * 6364136223846793005ul + 1442695040888963407ul;
  g_sum = value;
}

void computes_to_the_end() {
  while (goes_on()) computes(std::chrono::milliseconds(5));
}

void waits_for_work() {
  std::unique_lock lock(g_lock);
  for (;;) g_work.wait(lock);
}

[[gnu::noipa]] void sleeps_with_the_lock() {
  const std::lock_guard hold(g_lock);
  pause_for(std::chrono::milliseconds(20));
}

[[gnu::noipa]] void computes_with_the_lock() {
  const std::lock_guard hold(g_lock);
  computes(std::chrono::milliseconds(2));
}

// glibc's mutex is not fair: a thread that checks the time between two locks may have to wait for minutes.
void ends_at_the_end() {
  ::signal(SIGALRM, [](int) { ::_exit(0); });
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(g_end - Clock::now()).count();
  const itimerval once{{0, 0}, {left / 1'000'000, left % 1'000'000}};
  ::setitimer(ITIMER_REAL, &once, nullptr);
}

template <class Work>
void start(int count, Work work) {
  for (int i = 0; i < count; ++i) std::thread(work).detach();
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const std::string kind = words[1];
  const auto length =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::atof(words[2])));
  g_end = Clock::now() + length;
  if (kind == "pool") {
    start(8, waits_for_work);
    computes_to_the_end();
  } else if (kind == "joined") {
    std::thread(computes_to_the_end).join();
  } else if (kind == "keepers") {
    start(5, [] {
      for (;;) pause_for(std::chrono::milliseconds(50));
    });
    computes_to_the_end();
  } else if (kind == "spin") {
    static std::atomic<bool> flag;
    start(2, [] {
      for (bool wanted = true;; wanted = !wanted)
        while (flag != wanted) __builtin_ia32_pause();
    });
    while (goes_on()) {
      pause_for(std::chrono::milliseconds(5));
      flag = !flag;
    }
  } else if (kind == "asleep") {
    while (goes_on()) pause_for(std::chrono::milliseconds(100));
  } else if (kind == "held") {
    ends_at_the_end();
    start(1, [] {
      for (;;) sleeps_with_the_lock();
    });
    for (;;) const std::lock_guard hold(g_lock);
  } else if (kind == "contended") {
    ends_at_the_end();
    start(7, [] {
      for (;;) computes_with_the_lock();
    });
    for (;;) computes_with_the_lock();
  } else if (kind == "stuck") {
    static std::latch both_held(2);
    start(1, [] {
      const std::lock_guard first(g_lock);
      both_held.arrive_and_wait();
      const std::lock_guard second(g_other);
    });
    start(1, [] {
      const std::lock_guard first(g_other);
      both_held.arrive_and_wait();
      const std::lock_guard second(g_lock);
    });
    both_held.wait();
    std::thread([] { const std::lock_guard third(g_lock); }).join();
  } else if (kind == "idle") {
    start(4, waits_for_work);
    const int events = ::epoll_create1(0);
    epoll_event event;
    ::epoll_wait(events, &event, 1,
                 static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(length).count()));
  } else {
    return 2;
  }
  std::fflush(nullptr);
  ::_exit(0);
}
