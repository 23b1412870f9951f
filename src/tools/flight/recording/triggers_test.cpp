#include "tools/flight/recording/triggers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::flight {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kMiB = 1 << 20, kTick = 100'000'000;

// One process in a group with a limit of 1 GiB; ten ticks a second.
class Process {
 public:
  explicit Process(TriggerOptions options = {}) : triggers_(options) {
    tick.limit_bytes = 1024 * kMiB;
    tick.limit_of = "control group /box";
  }
  std::vector<std::string> next(std::uint64_t anonymous) {
    tick.time_ns += kTick;
    tick.anonymous = tick.resident = tick.held_bytes = anonymous;
    return triggers_.take(tick);
  }
  Tick tick;

 private:
  Triggers triggers_;
};

TEST(Triggers, ProcessThatStandsStillMakesNoMark) {
  Process process({.each_bytes = 100 * kMiB});
  for (int i = 0; i < 100; ++i) EXPECT_THAT(process.next(500 * kMiB), IsEmpty());
}

TEST(Triggers, GrowthThatMeetsTheLimitSoonIsMarkedOnce) {
  Process process;
  std::vector<std::string> marks;
  // 100 MiB a second: at 824 MiB two seconds are left.
  for (std::uint64_t mib = 400; mib < 950; mib += 10)
    for (std::string& mark : process.next(mib * kMiB)) {
      EXPECT_GE(mib, 820U);
      marks.push_back(std::move(mark));
    }
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_THAT(marks[0],
              HasSubstr("anonymous memory grows by 100.0 MiB/s and would meet the limit of 1.0 GiB"));
  EXPECT_THAT(marks[0], HasSubstr("of control group /box in "));
}

TEST(Triggers, NearnessIsMarkedAgainOnlyAfterItWasFarAway) {
  Process process({.soon_s = 0});
  EXPECT_THAT(process.next(980 * kMiB),
              ElementsAre(HasSubstr("95.7 % of the limit of 1.0 GiB of control group /box")));
  EXPECT_THAT(process.next(990 * kMiB), IsEmpty());
  EXPECT_THAT(process.next(940 * kMiB), IsEmpty());  // between near and far
  EXPECT_THAT(process.next(980 * kMiB), IsEmpty());
  EXPECT_THAT(process.next(900 * kMiB), IsEmpty());
  EXPECT_EQ(process.next(980 * kMiB).size(), 1U);
}

TEST(Triggers, EachStepOfGrowthIsMarkedAndShrinkingIsNone) {
  Process process({.each_bytes = 100 * kMiB, .soon_s = 0});
  EXPECT_THAT(process.next(50 * kMiB), IsEmpty());
  EXPECT_THAT(process.next(149 * kMiB), IsEmpty());
  EXPECT_THAT(process.next(150 * kMiB), ElementsAre("resident memory grew by 100.0 MiB to 150.0 MiB"));
  EXPECT_THAT(process.next(60 * kMiB), IsEmpty());
  EXPECT_THAT(process.next(240 * kMiB), IsEmpty());
  EXPECT_THAT(process.next(500 * kMiB), ElementsAre("resident memory grew by 350.0 MiB to 500.0 MiB"));
}

TEST(Triggers, EventsOfMemoryHighAreMarkedAndSummedWhileTheyGoOn) {
  Process process;
  process.next(100 * kMiB);
  process.tick.high_events = 3;
  EXPECT_THAT(process.next(100 * kMiB), ElementsAre("memory.high of control group /box was met 3 times"));
  for (std::uint64_t i = 4; i < 100; ++i) {
    process.tick.high_events = i;
    EXPECT_THAT(process.next(100 * kMiB), IsEmpty());  // within ten seconds
  }
  process.tick.high_events = 100;
  for (int i = 0; i < 4; ++i) process.next(100 * kMiB);
  process.tick.high_events = 105;
  EXPECT_EQ(process.next(100 * kMiB).size(), 1U);
}

TEST(Triggers, GroupWhosePageCacheIsAtItsLimitIsNoNews) {
  Process process;
  process.next(100 * kMiB);
  for (std::uint64_t i = 1; i < 50; ++i) {
    process.tick.limit_events = i * 1000;
    EXPECT_THAT(process.next(100 * kMiB), IsEmpty());
  }
}

TEST(Triggers, TimeThatTasksStoodStillIsMarked) {
  Process process;
  process.tick.stalled_us = 1e9;
  for (int i = 0; i < 20; ++i) {
    *process.tick.stalled_us += 1'000;  // one per cent
    EXPECT_THAT(process.next(100 * kMiB), IsEmpty());
  }
  std::vector<std::string> marks;
  for (int i = 0; i < 20; ++i) {
    *process.tick.stalled_us += 30'000;
    for (std::string& mark : process.next(100 * kMiB)) marks.push_back(std::move(mark));
  }
  EXPECT_THAT(marks, ElementsAre(HasSubstr("tasks stalled on memory for ")));
}

TEST(Triggers, WithoutALimitOnlyStepsOfGrowthAreLeft) {
  Process process({.each_bytes = 300 * kMiB});
  process.tick.limit_bytes = 0;
  std::size_t marks = 0;
  for (std::uint64_t mib = 0; mib < 1000; mib += 50) marks += process.next(mib * kMiB).size();
  EXPECT_EQ(marks, 3U);
}

}  // namespace
}  // namespace fathom::flight
