#include "present/sentences/stacks_sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::present {
namespace {

using stacks::Evidence;
using stacks::Finding;
using stacks::Holder;
using stacks::Look;
using stacks::ThreadLook;
using stacks::Verdict;
using testing::ElementsAre;

class StacksSentences : public testing::Test {
 protected:
  // Waits for a mutex.
  std::size_t thread(const std::string& name, const std::string& function, std::uint32_t line) {
    ThreadLook row;
    row.pid = 9;
    row.tid = static_cast<std::int32_t>(10 + look.threads.size());
    row.name = name;
    row.state = stacks::State::kWaits;
    row.place = {function, "/src/bank.cpp", line};
    row.awaited.cause = analysis::Cause::kFutex;
    row.awaited.family = stacks::LockFamily::kPthreadMutex;
    row.awaited.address = 0x1000 + 16 * look.threads.size();
    row.waited_ns = 3'200'000'000;
    look.threads.push_back(row);
    return look.threads.size() - 1;
  }
  void hold(std::size_t waiter, std::size_t holder) {
    look.threads[waiter].holder = {
        Holder::Kind::kThread, Evidence::kOwnerField, look.threads[holder].tid, 9, {}, holder};
  }
  std::string say(Finding finding, std::vector<std::size_t> threads, std::vector<std::size_t> chain = {},
                  std::size_t behind = 0) const {
    return verdict_sentence(look, {finding, std::move(threads), std::move(chain), behind, false});
  }
  Look look;
};

TEST_F(StacksSentences, ADeadlockHasALineForEachThread) {
  const std::size_t a = thread("pay", "transfer", 9), b = thread("night", "compact", 10);
  hold(a, b);
  hold(b, a);
  EXPECT_EQ(
      say(Finding::kDeadlock, {a, b}, {}, 6),
      "Deadlock: 2 threads wait for each other, and none can go on, for 3.20 s. 6 more threads wait behind them.");
  const Verdict verdict{Finding::kDeadlock, {a, b}, {}, 0, false};
  EXPECT_THAT(
      verdict_lines(look, verdict),
      ElementsAre(
          "pay (thread 10) waits in transfer (bank.cpp:9) for mutex 0x1000, held by night (thread 11)",
          "night (thread 11) waits in compact (bank.cpp:10) for mutex 0x1010, held by pay (thread 10)"));
}

TEST_F(StacksSentences, AThreadThatLocksTwice) {
  const std::size_t a = thread("pay", "transfer", 9);
  hold(a, a);
  EXPECT_EQ(
      say(Finding::kDeadlock, {a}),
      "Deadlock: pay (thread 10) waits in transfer (bank.cpp:9) for mutex 0x1000 that it holds itself, for 3.20 s.");
}

TEST_F(StacksSentences, AHolderThatHasExited) {
  const std::size_t a = thread("pay", "transfer", 9);
  look.threads[a].holder = {Holder::Kind::kExited, Evidence::kOwnerField, 7, 0, {}, 0};
  EXPECT_EQ(
      say(Finding::kHolderExited, {a}),
      "Stuck: pay (thread 10) waits in transfer (bank.cpp:9) for mutex 0x1000, for 3.20 s; thread 7 held it and has exited without releasing it.");
}

TEST_F(StacksSentences, AChainNamesEachHolderAndWhatItDoes) {
  const std::size_t a = thread("pay", "transfer", 9), b = thread("night", "compact", 10);
  hold(a, b);
  look.threads[b].awaited.cause = analysis::Cause::kFileSync;
  look.threads[b].awaited.object = "fsync of /data/log";
  look.threads[b].waited_ns = 40'000'000;
  EXPECT_EQ(
      say(Finding::kHolderWaits, {a}, {b}),
      "pay (thread 10) waits in transfer (bank.cpp:9) for mutex 0x1000, for 3.20 s; held by night (thread 11), which itself waits in compact (bank.cpp:10) for fsync of /data/log, for 40 ms.");
  look.threads[b].state = stacks::State::kRuns;
  EXPECT_EQ(
      say(Finding::kHolderRuns, {a}, {b}),
      "pay (thread 10) waits in transfer (bank.cpp:9) for mutex 0x1000, for 3.20 s; held by night (thread 11), which runs in compact (bank.cpp:10).");
}

TEST_F(StacksSentences, WhatIsNotKnownIsSaid) {
  const std::size_t a = thread("pay", "transfer", 9), b = thread("pay", "transfer", 9);
  look.threads[a].awaited.family = look.threads[b].awaited.family = stacks::LockFamily::kRust;
  EXPECT_EQ(
      say(Finding::kHolderUnknown, {a, b}),
      "2 threads wait in transfer (bank.cpp:9) for mutex 0x1000, for 3.20 s; who holds it is not known: locks of Rust's standard library do not keep their holder.");
  look.threads[a].awaited.futex = look.threads[b].awaited.futex = analysis::FutexKind::kCondition;
  EXPECT_EQ(
      say(Finding::kWaits, {a, b}),
      "2 threads wait in transfer (bank.cpp:9) for a condition variable, for 3.20 s. What would end these waits is not known.");
}

TEST_F(StacksSentences, NothingToDo) {
  const std::size_t a = thread("main", "serve", 1);
  EXPECT_EQ(say(Finding::kIdle, {a}), "Idle: the only thread waits for work, time or events.");
  thread("pay", "transfer", 9);
  EXPECT_EQ(say(Finding::kIdle, {a}), "1 thread is idle: waiting for work, time or events.");
  EXPECT_EQ(say(Finding::kIdle, {0, 1}), "Idle: all 2 threads wait for work, time or events.");
}

TEST_F(StacksSentences, NamesCannotCommandATerminal) {
  const std::size_t a = thread("\x1b[31mred", "f\x07", 9);
  hold(a, a);
  for (const std::string& text : {say(Finding::kDeadlock, {a}), doing_words(look, look.threads[a])})
    for (const char c : text) EXPECT_GE(static_cast<unsigned char>(c), 32) << text;
}

TEST_F(StacksSentences, AnObjectFollowsWaitsFor) {
  const std::size_t a = thread("pay", "transfer", 9);
  Look& all = look;
  all.threads[a].awaited.cause = analysis::Cause::kSocket;
  all.threads[a].awaited.object = "wait for socket 10.0.0.1:80";
  EXPECT_EQ(doing_words(all, all.threads[a]), "waits for socket 10.0.0.1:80, for 3.20 s");
}

}  // namespace
}  // namespace fathom::present
