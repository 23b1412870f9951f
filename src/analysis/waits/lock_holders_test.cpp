#include "analysis/waits/lock_holders.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/core/hand_made_profile.h"
#include "analysis/waits/wait_report.h"
#include "present/sentences/wait_sentences.h"

namespace fathom::analysis {
namespace {

// A thread that waits for a lock ten times for 100 ms, and one that holds it then.
class LockHolders : public ::testing::Test {
 protected:
  std::optional<HolderDelay> find() const { return find_holder_delay(hand.profile, {}); }
  void wait_at_lock(model::ThreadId who, model::ThreadId waker, double from_s, double ms) {
    model::Wait& wait = hand.wait(who, at_lock, "futex", from_s, ms, 0, lock);
    wait.waker = waker;
  }

  HandMade hand;
  model::ModuleId app = hand.module("app"), libc = hand.module("libc.so.6");
  model::ProcessId process = hand.process(10, "app");
  model::ThreadId urgent = hand.thread(process, 10, "urgent"), holder = hand.thread(process, 11, "holder");
  model::StackId at_lock = hand.stack(
      {hand.frame(app, {"main"}), hand.frame(app, {"take_it"}), hand.frame(libc, {"pthread_mutex_lock"})});
  model::StackId at_work = hand.stack({hand.frame(app, {"run"}), hand.frame(app, {"work_under_lock"})});
  model::WaitObjectId lock = hand.object(model::ObjectKind::kFutex, "", 0x7000);
};

TEST_F(LockHolders, OneWithoutACpuIsTheReason) {
  for (int i = 0; i < 10; ++i) {
    wait_at_lock(urgent, holder, i * 0.5, 100);
    hand.wait(holder, at_work, "", i * 0.5 + 0.01, 0, 80);  // preempted
  }
  const auto delay = find();
  ASSERT_TRUE(delay);
  EXPECT_EQ(delay->cause, Cause::kRunQueue);
  EXPECT_EQ(delay->holder, "holder");
  EXPECT_EQ(delay->lock_site, "take_it");
  EXPECT_NEAR(delay->ns, 0.8e9, 1e6);
  EXPECT_NEAR(delay->all_locks_ns, 1e9, 1e6);
  EXPECT_EQ(
      present::sentence_of(*delay),
      "Threads waited 1.00 s for locks, most of it in take_it, and for 800 ms of that the thread that held the "
      "lock, holder, could run and had no CPU.");
}

TEST_F(LockHolders, OneThatSleepsIsTheReason) {
  const auto asleep = hand.stack(
      {hand.frame(app, {"run"}), hand.frame(app, {"wait_a_bit"}), hand.frame(libc, {"nanosleep"})});
  for (int i = 0; i < 10; ++i) {
    wait_at_lock(urgent, holder, i * 0.5, 100);
    hand.wait(holder, asleep, "nanosleep", i * 0.5 - 0.02, 100);  // 80 ms of them inside
  }
  const auto delay = find();
  ASSERT_TRUE(delay);
  EXPECT_EQ(delay->cause, Cause::kSleep);
  EXPECT_EQ(delay->site, "wait_a_bit");
  EXPECT_NEAR(delay->ns, 0.8e9, 30e6);
  EXPECT_NE(present::sentence_of(*delay).find("slept in wait_a_bit"), std::string::npos)
      << present::sentence_of(*delay);
}

TEST_F(LockHolders, WhatOneDidBeforeItHadTheLockIsNoReason) {
  const model::ThreadId third = hand.thread(process, 12, "third");
  for (int i = 0; i < 10; ++i) {
    wait_at_lock(urgent, holder, i * 0.5, 100);
    hand.wait(holder, at_work, "", i * 0.5, 0, 40);
    wait_at_lock(holder, third, i * 0.5 + 0.04, 55);
  }
  EXPECT_FALSE(find()) << "it queued for the lock itself";
}

TEST_F(LockHolders, TheOneBeforeTheLastCounts) {
  const model::ThreadId third = hand.thread(process, 12, "third");
  for (int i = 0; i < 10; ++i) {
    wait_at_lock(urgent, third, i * 0.5, 100);
    wait_at_lock(third, holder, i * 0.5, 95);  // passes it on at once
    hand.wait(holder, at_work, "", i * 0.5 + 0.01, 0, 80);
  }
  const auto delay = find();
  ASSERT_TRUE(delay);
  EXPECT_EQ(delay->holder, "holder");
  EXPECT_EQ(delay->cause, Cause::kRunQueue);
  EXPECT_NEAR(delay->ns, 1.6e9, 1e7) << "both waited for it";
}

TEST_F(LockHolders, OneThatWorksIsNoReason) {
  for (int i = 0; i < 10; ++i) {
    wait_at_lock(urgent, holder, i * 0.5, 100);
    hand.wait(holder, at_work, "", i * 0.5 + 0.01, 0, 5);
  }
  EXPECT_FALSE(find());
}

TEST_F(LockHolders, WaitsAtConditionsHaveNone) {
  const auto at_condition = hand.stack(
      {hand.frame(app, {"main"}), hand.frame(app, {"next_job"}), hand.frame(libc, {"pthread_cond_wait"})});
  for (int i = 0; i < 10; ++i) {
    hand.wait(urgent, at_condition, "futex", i * 0.5, 100, 0, lock).waker = holder;
    hand.wait(holder, at_work, "", i * 0.5 + 0.01, 0, 80);
  }
  EXPECT_FALSE(find());
}

}  // namespace
}  // namespace fathom::analysis
