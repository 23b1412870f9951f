#include "base/abandonable.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace fathom {
namespace {

constexpr std::uint64_t kLong = 60'000'000'000;

// Blocks a thread until it is released, like a read of memory that no handler provides.
class Gate {
 public:
  std::function<int()> keeps(int value) const {
    return [opened = opened_, value] {
      opened.wait();
      return value;
    };
  }
  void open() {
    if (!std::exchange(is_open_, true)) promise_.set_value();
  }
  ~Gate() { open(); }

 private:
  bool is_open_ = false;
  std::promise<void> promise_;
  std::shared_future<void> opened_ = promise_.get_future().share();
};

// Threads of earlier tests may still be on their way out.
template <class T>
Abandonable<T> start(const std::function<T()>& work) {
  for (;;) {
    if (auto begun = Abandonable<T>::start(work)) return std::move(*begun);
    std::this_thread::yield();
  }
}

TEST(Abandonable, GivesWhatWasMade) {
  auto work = start<std::string>([] { return std::string("made"); });
  ASSERT_TRUE(work.wait_until(monotonic_ns() + kLong));
  EXPECT_EQ(work.take(), "made");
}

TEST(Abandonable, WhoWaitsIsNotKeptByAThreadThatHangs) {
  Gate gate;
  auto work = start<int>(gate.keeps(7));
  EXPECT_FALSE(work.wait_until(0)) << "a time that is past asks";
  EXPECT_FALSE(work.wait_until(monotonic_ns() + 1'000'000));
  gate.open();
  ASSERT_TRUE(work.wait_until(monotonic_ns() + kLong)) << "and if it comes back, it is heard";
  EXPECT_EQ(work.take(), 7);
}

TEST(Abandonable, WhatWasGivenUpLivesWithItsThread) {
  const auto kept = std::make_shared<int>(1);
  Gate gate;
  {
    auto work = start<int>([keeps = gate.keeps(1), kept] { return keeps() + *kept; });
    EXPECT_FALSE(work.wait_until(0));
  }
  EXPECT_GE(kept.use_count(), 2);
  gate.open();
  while (kept.use_count() > 1) std::this_thread::yield();
}

TEST(Abandonable, MoreThanAFewAreNotBegun) {
  Gate gate;
  std::vector<Abandonable<int>> hanging;
  for (int i = 0; i < kMostAbandonable; ++i) hanging.push_back(start<int>(gate.keeps(i)));
  EXPECT_FALSE(Abandonable<int>::start([] { return 1; }));
  gate.open();
  for (Abandonable<int>& each : hanging) EXPECT_TRUE(each.wait_until(monotonic_ns() + kLong));
}

TEST(Abandonable, WorkThatThrowsIsDoneAndMadeNothing) {
  auto work = start<int>([]() -> int { throw std::bad_alloc(); });
  ASSERT_TRUE(work.wait_until(monotonic_ns() + kLong));
  EXPECT_EQ(work.take(), std::nullopt);
}

TEST(Abandonable, SignalsStayWithWhoStartedIt) {
  auto work = start<bool>([] {
    sigset_t set;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &set);
    return ::sigismember(&set, SIGINT) == 1 && ::sigismember(&set, SIGTERM) == 1;
  });
  ASSERT_TRUE(work.wait_until(monotonic_ns() + kLong));
  EXPECT_EQ(work.take(), true);
  sigset_t set;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &set);
  EXPECT_EQ(::sigismember(&set, SIGINT), 0);
}

}  // namespace
}  // namespace fathom
