#include "cli/cost_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace fathom::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CostEstimate, GrowsWithWhatTheTargetDoes) {
  session::RecordOptions options;  // CPU at 999 Hz, waits, memory
  const CostEstimate idle = estimate_cost(options, {.threads = 300});
  EXPECT_EQ(idle.samples.high, 0);
  EXPECT_EQ(idle.waits.high, 0);
  const CostEstimate busy = estimate_cost(options, {.threads = 8, .busy_cpus = 2, .switches_per_s = 50'000});
  EXPECT_NEAR(busy.samples.low, 0.0028, 0.0001);
  EXPECT_NEAR(busy.samples.high, 0.02, 0.0001);
  // 660 ns a switch with its walks, and 0.5 to 0.6 % for wake-ups, were measured at such a rate.
  EXPECT_LE(busy.waits.low, 50'000 * 0.66e-6);
  EXPECT_GE(busy.waits.high, 50'000 * 0.66e-6 + 0.006);
  EXPECT_LT(busy.all().low, busy.all().high);
}

TEST(CostEstimate, WhatIsNotRecordedCostsNothing) {
  session::RecordOptions options;
  options.cpu = options.off_cpu = false;
  const CostEstimate cost = estimate_cost(options, {.threads = 8, .busy_cpus = 2, .switches_per_s = 50'000});
  EXPECT_EQ(cost.samples.high, 0);
  EXPECT_EQ(cost.waits.high, 0);
  EXPECT_THAT(cost_line(options, TargetActivity{8, 2, 50'000}), Not(HasSubstr("switches")));
}

TEST(CostEstimate, TheLineSaysFromWhatItIs) {
  session::RecordOptions options;
  EXPECT_EQ(cost_line(options, TargetActivity{5, 1.02, 1234.5}),
            "expected cost: 0.59 to 4.8 % of one CPU as it runs now: samples 0.14 to 1.0 % (1.02 CPUs busy, "
            "999 Hz), "
            "waits 0.15 to 1.3 % (1,234 switches/s of 5 threads), fathom itself 0.30 to 2.5 %");
  options.heap = session::Heap::kSampled;
  EXPECT_THAT(
      cost_line(options, TargetActivity{5, 1.02, 1234.5}),
      HasSubstr(", heap about 8 ns for each pair of malloc and free (a sample for 512.0 KiB of them)"));
  EXPECT_THAT(
      cost_line(options, std::nullopt),
      HasSubstr("expected cost, of one CPU: samples 0.14 to 1.0 % for each busy CPU (999 Hz), waits 0.15 to "
                "1.0 % for 1,000 switches/s, "));
}

TEST(CostEstimate, ActivityIsWhatChangedBetweenTwoReadings) {
  EXPECT_EQ(activity_between({}, {.time_ns = 1'000'000'000}), std::nullopt) << "it has ended";
  EXPECT_EQ(activity_between({}, {.time_ns = 1'000'000, .threads = 1}), std::nullopt) << "too short";
  const auto activity = activity_between({.time_ns = 0, .threads = 9, .ran_ns = 5e9, .slices = 100},
                                         {.time_ns = 500'000'000, .threads = 3, .ran_ns = 6e9, .slices = 50});
  ASSERT_TRUE(activity);
  EXPECT_EQ(activity->threads, 3u);
  EXPECT_DOUBLE_EQ(activity->busy_cpus, 2);
  EXPECT_EQ(activity->switches_per_s, 0) << "threads ended, and took their counts with them";
}

TEST(CostEstimate, ReadsTheThreadsOfAProcess) {
  const ActivityReading first = read_activity({::getpid()});
  ASSERT_GE(first.threads, 1u);
  for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const ActivityReading second = read_activity({::getpid()});
  EXPECT_GE(second.slices, first.slices + 20);
  EXPECT_GE(second.ran_ns, first.ran_ns);
  EXPECT_GT(second.time_ns, first.time_ns);
  EXPECT_EQ(read_activity({1 << 30}).threads, 0u) << "there is no such process";
}

}  // namespace
}  // namespace fathom::cli
