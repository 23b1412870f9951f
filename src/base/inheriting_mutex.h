// A lock between threads of different priority, and a condition to wait for with it: while a thread of high
// priority waits for the lock, the one that holds it runs with that priority. With std::mutex a recorder
// with real-time priority was seen to wait 18 ms for a thread of SCHED_IDLE that held the lock for
// microseconds, and had no CPU. Source: pthread_mutexattr_setprotocol(3p), PTHREAD_PRIO_INHERIT.
#pragma once

#include <pthread.h>
#include <time.h>

#include <chrono>
#include <mutex>

namespace fathom {

// For std::lock_guard and std::unique_lock.
class InheritingMutex {
 public:
  InheritingMutex() {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    ::pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    if (::pthread_mutex_init(&mutex_, &attributes) != 0) ::pthread_mutex_init(&mutex_, nullptr);
    ::pthread_mutexattr_destroy(&attributes);
  }
  ~InheritingMutex() { ::pthread_mutex_destroy(&mutex_); }
  InheritingMutex(const InheritingMutex&) = delete;
  InheritingMutex& operator=(const InheritingMutex&) = delete;

  void lock() { ::pthread_mutex_lock(&mutex_); }
  bool try_lock() { return ::pthread_mutex_trylock(&mutex_) == 0; }
  void unlock() { ::pthread_mutex_unlock(&mutex_); }
  pthread_mutex_t* native_handle() { return &mutex_; }

 private:
  pthread_mutex_t mutex_;
};

class InheritingCondition {
 public:
  InheritingCondition() {
    pthread_condattr_t attributes;
    ::pthread_condattr_init(&attributes);
    ::pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    ::pthread_cond_init(&condition_, &attributes);
    ::pthread_condattr_destroy(&attributes);
  }
  ~InheritingCondition() { ::pthread_cond_destroy(&condition_); }
  InheritingCondition(const InheritingCondition&) = delete;
  InheritingCondition& operator=(const InheritingCondition&) = delete;

  void notify_one() { ::pthread_cond_signal(&condition_); }
  void notify_all() { ::pthread_cond_broadcast(&condition_); }

  // Until `holds` or for so long; what `holds` says in the end.
  template <class Predicate>
  bool wait_for(std::unique_lock<InheritingMutex>& lock, std::chrono::nanoseconds duration, Predicate holds) {
    timespec until{};
    ::clock_gettime(CLOCK_MONOTONIC, &until);
    const auto ns = until.tv_nsec + duration.count();
    until.tv_sec += ns / 1'000'000'000;
    until.tv_nsec = ns % 1'000'000'000;
    while (!holds()) {
      if (::pthread_cond_timedwait(&condition_, lock.mutex()->native_handle(), &until) != 0) return holds();
    }
    return true;
  }

 private:
  pthread_cond_t condition_;
};

}  // namespace fathom
