#include "record/session/tracking/bpf_waits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace fathom::session {
namespace {

constexpr std::uint64_t kStart = 1'000'000;

// A thread that has been seen for a while and runs, waits or is in the run queue.
thread_account some_account(std::mt19937& random) {
  const auto up_to = [&](std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(0, most)(random);
  };
  thread_account account{};
  account.pid = 7;
  account.ran_ns = up_to(1000);
  account.waited_ns = up_to(1000);
  account.queued_ns = up_to(1000);
  account.waits = static_cast<decltype(account.waits)>(up_to(9));
  account.preemptions = static_cast<decltype(account.preemptions)>(up_to(9));
  account.stack_id = up_to(1) * 5;
  account.state = static_cast<decltype(account.state)>(up_to(2));
  if (up_to(1) == 0) {
    account.in_ns = kStart + up_to(1000);
  } else {
    account.out_ns = kStart + up_to(1000);
    account.walk_ns = 0;
    if (account.state != 0 && up_to(1) == 0) account.woken_ns = account.out_ns + up_to(1000);
  }
  return account;
}

std::uint64_t all_of(const sources::ThreadWaitTime& times) {
  return times.ran_ns + times.waited_ns + times.queued_ns;
}

// Whatever a thread does at the moment, its running, waiting and queueing grow together as fast as the clock.
TEST(BpfWaits, SumsOfAThreadGrowAsTheClockDoes) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const thread_account account = some_account(random);
    const std::uint64_t begin = std::max(account.in_ns, account.out_ns) + 1;
    for (const std::uint64_t later : {1u, 100u, 5000u}) {
      const auto first = sums_of(70, account, begin), second = sums_of(70, account, begin + later);
      EXPECT_EQ(all_of(second) - all_of(first), later) << i;
      EXPECT_GE(second.ran_ns, first.ran_ns);
      EXPECT_GE(second.waited_ns, first.waited_ns);
      EXPECT_GE(second.queued_ns, first.queued_ns);
      EXPECT_EQ(second.tid, 70);
      EXPECT_EQ(second.pid, 7);
    }
  }
}

TEST(BpfWaits, AWaitThatIsOpenIsCutAtTheEnd) {
  std::mt19937 random(2);
  std::size_t open = 0;
  for (int i = 0; i < 1000; ++i) {
    const thread_account account = some_account(random);
    const std::uint64_t end_ns = kStart + 5000;
    const auto wait = open_wait(70, account, end_ns);
    ASSERT_EQ(wait.has_value(), account.out_ns != 0 && account.stack_id != 0) << i;
    if (!wait) continue;
    ++open;
    EXPECT_TRUE(wait->unfinished);
    EXPECT_EQ(wait->out_ns + wait->waited_ns + wait->queued_ns, end_ns);
    if (account.state == 0) {
      EXPECT_EQ(wait->waited_ns, 0u) << "one that was preempted waits for a CPU only";
    }
    EXPECT_FALSE(open_wait(70, account, account.out_ns)) << "it began when the recording ended";
  }
  EXPECT_GT(open, 100u);
}

// Until a wait is over and chosen, its account holds no stack.
TEST(BpfWaits, AWaitThatIsWalkedWhenItIsOverIsNoRowBefore) {
  std::mt19937 random(4);
  for (int i = 0; i < 1000; ++i) {
    thread_account account = some_account(random);
    account.stack_id = i % 2 == 0 ? STACK_WHEN_OVER : STACK_CHOSEN;
    EXPECT_FALSE(open_wait(70, account, kStart + 5000)) << i;
    account.held_out_ns = kStart;
    EXPECT_FALSE(open_wait(70, account, kStart + 5000)) << i << ": over, and its thread has not been resumed";
    const auto times = sums_of(70, account, kStart + 5000);
    EXPECT_EQ(times.unwalked_waits, account.unwalked_waits) << "what will be walked is not yet known";
  }
}

// Over, and booked when its system call returns.
TEST(BpfWaits, AWaitWhoseCallHasNotReturnedHasItsOwnLength) {
  thread_account account{};
  account.stack_id = 5;
  account.held_out_ns = kStart;
  account.held_waited_ns = 30;
  account.held_queued_ns = 2;
  account.in_ns = kStart + 32;
  const auto wait = open_wait(70, account, kStart + 1000);
  ASSERT_TRUE(wait);
  EXPECT_FALSE(wait->unfinished);
  EXPECT_EQ(wait->out_ns, kStart);
  EXPECT_EQ(wait->waited_ns, 30u);
  EXPECT_EQ(wait->queued_ns, 2u);
}

// It counts among the waits, and among those without a stack.
TEST(BpfWaits, AWaitThatWasNotWalkedIsCounted) {
  thread_account account{};
  account.out_ns = kStart;
  account.state = 1;
  const auto times = sums_of(70, account, kStart + 100);
  EXPECT_EQ(times.waits, 1u);
  EXPECT_EQ(times.unwalked_waits, 1u);
  EXPECT_EQ(times.unwalked_ns, 100u);
  EXPECT_FALSE(open_wait(70, account, kStart + 100));
}

}  // namespace
}  // namespace fathom::session
