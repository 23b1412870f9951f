#include "record/proc/wait_book.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace fathom::sources {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::int32_t kPid = 10, kTid = 11;

Waited blocked_in(std::uint64_t stack_id) {
  Waited wait;
  wait.tid = kTid;
  wait.stack_id = stack_id;
  wait.system_call = 35;
  wait.state = 1;
  return wait;
}

template <class T>
std::vector<T> only(const std::vector<Event>& events) {
  std::vector<T> found;
  for (const Event& event : events) {
    if (const T* is = std::get_if<T>(&event)) found.push_back(*is);
  }
  return found;
}

std::map<std::uint64_t, double> time_of_stacks(const std::vector<Event>& events) {
  std::map<std::uint64_t, double> times;
  for (const Waited& wait : only<Waited>(events))
    times[wait.stack_id] += static_cast<double>(wait.waited_ns) * wait.weight;
  return times;
}

TEST(WaitBook, AWaitThatSpansTheWholeRecordingIsOneWait) {
  WaitBook book(false);
  const process::SchedulerTimes asleep{5 * kMs, kMs, 7};
  book.add(kPid, kTid, 1000 * kMs, asleep, true);
  EXPECT_FALSE(book.is_same_wait(kTid, asleep));
  book.look_blocked(1000 * kMs, asleep, blocked_in(1));
  for (std::uint64_t ms = 1010; ms <= 1500; ms += 10) {
    ASSERT_TRUE(book.is_same_wait(kTid, asleep));
    book.look_same(kTid, ms * kMs, asleep);
  }
  std::vector<Event> out;
  book.take(out);
  EXPECT_TRUE(out.empty());
  book.finish(out);
  const auto waits = only<Waited>(out);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].out_ns, 1000 * kMs);
  EXPECT_EQ(waits[0].waited_ns, 500 * kMs);
  EXPECT_EQ(waits[0].weight, 1u);
  EXPECT_TRUE(waits[0].began_before);
  EXPECT_TRUE(waits[0].unfinished);
  const auto sums = only<ThreadWaitTime>(out);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].waited_ns, 500 * kMs);
  EXPECT_EQ(sums[0].ran_ns, 0u);
}

TEST(WaitBook, WhatLiesBetweenTwoWaitsIsSharedByThem) {
  WaitBook book(false);
  book.add(kPid, kTid, 0, {0, 0, 1}, false);
  book.look_blocked(10 * kMs, {2 * kMs, 0, 1}, blocked_in(1));
  // One slice between: 1 ms on a CPU, 1 ms in its queue, 8 ms of waiting.
  book.look_blocked(20 * kMs, {3 * kMs, kMs, 2}, blocked_in(2));
  std::vector<Event> out;
  book.take(out);
  const auto waits = only<Waited>(out);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].stack_id, 1u);
  EXPECT_EQ(waits[0].out_ns, 2 * kMs);
  EXPECT_EQ(waits[0].waited_ns, 12 * kMs);
  EXPECT_EQ(waits[0].queued_ns, kMs);
  EXPECT_FALSE(waits[0].began_before);
  book.look_running(kTid, 30 * kMs, {5 * kMs, kMs, 3});
  book.finish(out);
  EXPECT_EQ(time_of_stacks(out), (std::map<std::uint64_t, double>{{1, 12.0 * kMs}, {2, 12.0 * kMs}}));
  const auto sums = only<ThreadWaitTime>(out);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].ran_ns, 5 * kMs);
  EXPECT_EQ(sums[0].queued_ns, kMs);
  EXPECT_EQ(sums[0].waited_ns, 24 * kMs);
}

TEST(WaitBook, AShortWaitStandsForThoseThatWereNotLookedAt) {
  WaitBook book(false);
  book.add(kPid, kTid, 0, {0, 0, 1}, false);
  // A hundred waits of 50 us and as many slices of 50 us in each 10 ms.
  std::uint64_t slices = 1;
  std::vector<Event> out;
  for (std::uint64_t look = 1; look <= 1000; ++look) {
    slices += 100;
    book.look_blocked(look * 10 * kMs, {look * 5 * kMs, 0, slices}, blocked_in(1));
    book.take(out);
  }
  book.finish(out);
  const auto waits = only<Waited>(out);
  ASSERT_EQ(waits.size(), 1000u);
  EXPECT_NEAR(static_cast<double>(waits[900].waited_ns), 100'000, 2'000);  // what is cut off at both ends
  EXPECT_NEAR(waits[900].weight, 50, 2);
  // All looks find it blocked, though it waits half of the time only: corrected, in the long run.
  EXPECT_NEAR(time_of_stacks(out)[1], 5000.0 * kMs, 300.0 * kMs);
}

TEST(WaitBook, SwitchesGiveTheEndsOfAScannedWait) {
  WaitBook book(true);
  book.add(kPid, kTid, 0, {0, 0, 1}, false);
  book.switched({.time_ns = 0, .pid = kPid, .tid = kTid, .out = false});
  book.look_blocked(10 * kMs, {2 * kMs, 0, 1}, blocked_in(1));
  book.switched({.time_ns = 2 * kMs, .pid = kPid, .tid = kTid, .out = true});
  std::vector<Event> out;
  book.take(out);
  EXPECT_TRUE(out.empty());
  book.look_running(kTid, 20 * kMs, {5 * kMs, 0, 2});
  book.switched({.time_ns = 17 * kMs, .pid = kPid, .tid = kTid, .out = false});
  book.switched({.time_ns = 21 * kMs, .pid = kPid, .tid = kTid, .out = true, .preempted = true});
  book.switched({.time_ns = 22 * kMs, .pid = kPid, .tid = kTid, .out = false});
  book.look_running(kTid, 30 * kMs, {12 * kMs, kMs, 3});
  book.finish(out);
  const auto waits = only<Waited>(out);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].out_ns, 2 * kMs);
  EXPECT_EQ(waits[0].waited_ns + waits[0].queued_ns, 15 * kMs);
  EXPECT_EQ(waits[0].weight, 1u);
  const auto sums = only<ThreadWaitTime>(out);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].waits, 1u);
  EXPECT_EQ(sums[0].preemptions, 1u);
}

TEST(WaitBook, QueueingComesAfterTheLookThatFoundItBlocked) {
  WaitBook book(true);
  book.add(kPid, kTid, 0, {0, 0, 1}, false);
  book.switched({.time_ns = 2 * kMs, .pid = kPid, .tid = kTid, .out = true});
  book.look_blocked(10 * kMs, {2 * kMs, 0, 1}, blocked_in(1));
  book.switched({.time_ns = 11 * kMs, .pid = kPid, .tid = kTid, .out = false});
  // In one slice between, 8 ms in the queue: more than this wait can have had.
  book.look_blocked(20 * kMs, {3 * kMs, 8 * kMs, 2}, blocked_in(2));
  std::vector<Event> out;
  book.take(out);
  const auto waits = only<Waited>(out);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].waited_ns, 8 * kMs);
  EXPECT_EQ(waits[0].queued_ns, kMs);
}

TEST(WaitBook, AWaitWhoseRecordWasLostIsGivenOutAllTheSame) {
  WaitBook book(true);
  book.add(kPid, kTid, 0, {0, 0, 1}, false);
  book.look_blocked(10 * kMs, {2 * kMs, 0, 1}, blocked_in(1));
  book.look_blocked(20 * kMs, {3 * kMs, 0, 2}, blocked_in(2));
  std::vector<Event> out;
  book.take(out);
  book.take(out);
  EXPECT_TRUE(out.empty());
  book.take(out);
  EXPECT_EQ(only<Waited>(out).size(), 1u);
}

TEST(WaitBook, AThreadThatEndsGivesOutWhatItHas) {
  WaitBook book(false);
  book.add(kPid, kTid, 0, {0, 0, 1}, false);
  book.look_blocked(10 * kMs, {2 * kMs, 0, 1}, blocked_in(1));
  std::vector<Event> out;
  book.ended(kTid, 14 * kMs, out);
  EXPECT_FALSE(book.knows(kTid));
  EXPECT_EQ(time_of_stacks(out)[1], 10.0 * kMs);
  const auto sums = only<ThreadWaitTime>(out);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].time_ns, 14 * kMs);
  EXPECT_EQ(sums[0].ran_ns + sums[0].waited_ns + sums[0].queued_ns, 14 * kMs);
  book.ended(kTid, 15 * kMs, out);
  EXPECT_EQ(out.size(), 2u);
}

TEST(WaitBook, AShortLifeComesFromItsSwitches) {
  WaitBook book(true);
  book.add(kPid, kTid, 10 * kMs, {}, false);
  book.switched({.time_ns = 11 * kMs, .pid = kPid, .tid = kTid, .out = false});
  book.switched({.time_ns = 12 * kMs, .pid = kPid, .tid = kTid, .out = true});
  book.switched({.time_ns = 15 * kMs, .pid = kPid, .tid = kTid, .out = false});
  std::vector<Event> out;
  book.ended(kTid, 17 * kMs, out);
  const auto sums = only<ThreadWaitTime>(out);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].queued_ns, 1 * kMs);
  EXPECT_EQ(sums[0].ran_ns, 3 * kMs);
  EXPECT_EQ(sums[0].waited_ns, 3 * kMs);
  EXPECT_EQ(sums[0].unwalked_ns, 3 * kMs);
  EXPECT_EQ(sums[0].waits, 1u);
}

// A shell that executes a program is running then; its first switch is that to its first wait, which is no time in the queue.
TEST(WaitBook, AnExecutedProgramRanUntilItWasFirstSwitchedOut) {
  WaitBook book(true);
  book.add(kPid, kTid, 10 * kMs, {}, false);
  book.switched({.time_ns = 12 * kMs, .pid = kPid, .tid = kTid, .out = true});
  book.switched({.time_ns = 2012 * kMs, .pid = kPid, .tid = kTid, .out = false});
  std::vector<Event> out;
  book.ended(kTid, 2013 * kMs, out);
  const auto sums = only<ThreadWaitTime>(out);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].ran_ns, 3 * kMs);
  EXPECT_EQ(sums[0].waited_ns, 2000 * kMs);
  EXPECT_EQ(sums[0].queued_ns, 0u);
}

TEST(WaitBook, AThreadThatIsNeverSeenBlockedKeepsItsWaitingApart) {
  WaitBook book(false);
  book.add(kPid, kTid, 0, {0, 0, 1}, false);
  for (std::uint64_t look = 1; look <= 10; ++look)
    book.look_running(kTid, look * 10 * kMs, {look * 9 * kMs, 0, 1 + look * 20});
  std::vector<Event> out;
  book.finish(out);
  EXPECT_TRUE(only<Waited>(out).empty());
  EXPECT_EQ(only<ThreadWaitTime>(out).at(0).unwalked_ns, 10 * kMs);
  EXPECT_EQ(only<ThreadWaitTime>(out).at(0).unwalked_waits, 200u);
}

// A thread that runs and waits by chance, looked at 99 times a second, with and without records of switches.
struct Truth {
  std::map<std::uint64_t, double> waited;
  double ran = 0;
};

Truth simulate(bool switches, double stack_means_ms[3], std::uint64_t seed, std::vector<Event>& out) {
  std::mt19937_64 random(seed);
  WaitBook book(switches);
  Truth truth;
  process::SchedulerTimes times{0, 0, 1};
  std::uint64_t now = 0, next_look = 5'050'000;
  constexpr std::uint64_t kEnd = 60'000 * kMs, kPeriod = 10'101'010;
  book.add(kPid, kTid, 0, times, false);
  const auto draw = [&](double mean_ms) {
    return 1'000 + static_cast<std::uint64_t>(std::exponential_distribution<>(1 / mean_ms)(random) * kMs);
  };
  while (now < kEnd) {
    const std::uint64_t run_end = now + draw(1.5);
    for (; next_look < run_end; next_look += kPeriod) {
      book.take(out);
      book.look_running(kTid, next_look, times);  // the account of one that runs lags behind
    }
    times.ran_ns += run_end - now;
    truth.ran += static_cast<double>(run_end - now);
    now = run_end;
    const std::uint64_t stack = 1 + random() % 3;
    const std::uint64_t wait_end = now + draw(stack_means_ms[stack - 1]);
    if (switches) book.switched({.time_ns = now, .pid = kPid, .tid = kTid, .out = true});
    for (; next_look < wait_end; next_look += kPeriod) {
      book.take(out);
      if (book.is_same_wait(kTid, times))
        book.look_same(kTid, next_look, times);
      else
        book.look_blocked(next_look, times, blocked_in(stack));
    }
    truth.waited[stack] += static_cast<double>(wait_end - now);
    now = wait_end;
    ++times.slices;
    if (switches) book.switched({.time_ns = now, .pid = kPid, .tid = kTid, .out = false});
  }
  book.look_running(kTid, now, times);
  book.finish(out);
  return truth;
}

TEST(WaitBook, SharesAreRightAndSumsExact) {
  constexpr int kRuns = 16;
  double means_ms[3][3] = {{5, 5, 5}, {0.05, 0.3, 2}, {40, 3, 0.2}};
  for (auto& means : means_ms) {
    for (const bool switches : {false, true}) {
      std::map<std::uint64_t, double> errors;
      for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
        std::vector<Event> out;
        const Truth truth = simulate(switches, means, seed, out);
        double total = 0, booked = 0;
        auto found = time_of_stacks(out);
        for (const auto& [stack, ns] : truth.waited) total += ns;
        for (const auto& [stack, ns] : truth.waited) {
          // Some 2000 looks find the thread blocked: the error of one run is 1 %.
          EXPECT_NEAR(found[stack] / total, ns / total, 0.04);
          errors[stack] += (found[stack] - ns) / total / kRuns;
          booked += found[stack];
        }
        EXPECT_NEAR(booked / total, 1, 0.01);
        const auto sums = only<ThreadWaitTime>(out);
        ASSERT_EQ(sums.size(), 1u);
        EXPECT_NEAR(static_cast<double>(sums[0].waited_ns), total, 0.001 * total);
        EXPECT_NEAR(static_cast<double>(sums[0].ran_ns), truth.ran, 0.001 * total);
      }
      for (const auto& [stack, error] : errors)
        EXPECT_NEAR(error, 0, 0.006) << "stack " << stack << " of mean " << means[stack - 1]
                                     << " ms, switches " << switches;
    }
  }
}

}  // namespace
}  // namespace fathom::sources
