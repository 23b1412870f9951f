#include "analysis/summary/pressure.h"

#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// A counter of microseconds at whole seconds of the recording.
void add_counter(HandMade& hand, const char* name, std::initializer_list<double> values,
                 std::int32_t pid = 1) {
  model::Series series{hand.builder.string(name), hand.builder.string("us"), pid, {}};
  std::uint64_t at = hand.profile.meta.start_ns;
  for (const double value : values) {
    series.points.push_back({at, value});
    at += kSecond;
  }
  hand.profile.series.push_back(std::move(series));
}

TEST(Pressure, IsTheGrowthOfTheCounterByTheTimeThatPassed) {
  HandMade hand;
  add_counter(hand, "cgroup.memory_stall_some", {5'000'000, 5'100'000, 5'500'000});
  add_counter(hand, "cgroup.memory_stall_full", {77, 77, 20'077});
  add_counter(hand, "cgroup.cpu_stall_some", {0, 1'000'000, 2'000'000});
  const PressureView view = find_pressure(hand.profile, {});
  ASSERT_TRUE(view.memory && view.cpu);
  EXPECT_NEAR(view.memory->some, 0.25, 1e-9);
  EXPECT_NEAR(view.memory->full, 0.01, 1e-9);
  EXPECT_FALSE(view.memory->of_machine);
  EXPECT_NEAR(view.cpu->some, 1, 1e-9);
  EXPECT_FALSE(view.io) << "was not recorded";
}

TEST(Pressure, IsThatOfTheWindow) {
  HandMade hand;
  add_counter(hand, "system.io_stall_some", {0, 0, 500'000, 500'000});
  EXPECT_NEAR(find_pressure(hand.profile, {.from_ns = kSecond, .to_ns = 3 * kSecond}).io->some, 0.5, 1e-9);
  EXPECT_FALSE(find_pressure(hand.profile, {.from_ns = 3 * kSecond}).io) << "one reading tells nothing";
  EXPECT_TRUE(find_pressure(hand.profile, {}).io->of_machine);
}

TEST(Pressure, OfTheControlGroupIsNearerThanOfTheMachine) {
  for (const bool machine_first : {true, false}) {
    HandMade hand;
    if (machine_first) add_counter(hand, "system.io_stall_some", {0, 900'000}, 1);
    add_counter(hand, "cgroup.io_stall_some", {0, 100'000}, 2);
    if (!machine_first) add_counter(hand, "system.io_stall_some", {0, 900'000}, 1);
    const PressureView view = find_pressure(hand.profile, {});
    EXPECT_EQ(view.io, (Stall{.some = 0.1, .full = 0, .of_machine = false}));
  }
}

TEST(Pressure, OtherSeriesAndCountersThatFallAreNone) {
  HandMade hand;
  add_counter(hand, "memory.rss_anon", {1, 2});
  add_counter(hand, "cgroup.memory", {1, 2});
  add_counter(hand, "system.stall_some", {1, 2});
  add_counter(hand, "system._stall_some", {1, 2});
  EXPECT_FALSE(find_pressure(hand.profile, {}).memory);
  add_counter(hand, "cgroup.memory_stall_some", {9e18, 3});
  EXPECT_EQ(find_pressure(hand.profile, {}).memory->some, 0) << "of a damaged file";
}

}  // namespace
}  // namespace fathom::analysis
