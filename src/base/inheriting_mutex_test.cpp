#include "base/inheriting_mutex.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace fathom {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

TEST(InheritingMutex, LetsOneInAtATime) {
  InheritingMutex mutex;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 10'000; ++k) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(count, 40'000);
  EXPECT_TRUE(mutex.try_lock());
  std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
  mutex.unlock();
}

TEST(InheritingCondition, WaitsForAPredicateOrATimeout) {
  InheritingMutex mutex;
  InheritingCondition condition;
  bool said = false;
  std::unique_lock lock(mutex);
  const auto start = Clock::now();
  EXPECT_FALSE(condition.wait_for(lock, milliseconds(1020), [&] { return said; }));
  EXPECT_GE(Clock::now() - start, milliseconds(1020));
  std::thread speaker([&] {
    const std::lock_guard guard(mutex);
    said = true;
    condition.notify_one();
  });
  EXPECT_TRUE(condition.wait_for(lock, std::chrono::seconds(30), [&] { return said; }));
  EXPECT_TRUE(lock.owns_lock());
  lock.unlock();
  speaker.join();
}

void become(int policy, int priority) {
  const sched_param parameter{.sched_priority = priority};
  ASSERT_EQ(sched_setscheduler(0, policy, &parameter), 0);
}

// On one CPU: a thread of SCHED_IDLE holds the lock, a busy one of middle priority keeps the CPU from it, and
// one of high priority wants the lock. It gets it long before the busy one is done.
TEST(InheritingMutex, TheHolderInheritsThePriorityOfTheWaiters) {
  sched_param none{};
  if (sched_setscheduler(0, SCHED_RR, (none.sched_priority = 1, &none)) != 0)
    GTEST_SKIP() << "real-time priority is not allowed here";
  become(SCHED_OTHER, 0);
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);

  InheritingMutex mutex;
  std::atomic<int> stage = 0;
  std::atomic<bool> got_it = false, busy_is_done = false;
  std::thread holder([&] {
    const std::lock_guard lock(mutex);
    become(SCHED_IDLE, 0);
    stage = 1;
    while (stage != 2) sched_yield();
    const auto end = Clock::now() + milliseconds(20);  // of work with the lock
    while (Clock::now() < end) {
    }
  });
  while (stage != 1) usleep(100);
  std::thread urgent([&] {
    become(SCHED_RR, 2);
    while (stage != 2) usleep(100);
    usleep(1000);
    const std::lock_guard lock(mutex);
    got_it = true;
    EXPECT_FALSE(busy_is_done);
  });
  std::thread busy([&] {
    become(SCHED_RR, 1);
    stage = 2;
    const auto end = Clock::now() + milliseconds(400);
    while (Clock::now() < end && !got_it) {
    }
    busy_is_done = true;
  });
  urgent.join();
  busy.join();
  holder.join();
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace fathom
