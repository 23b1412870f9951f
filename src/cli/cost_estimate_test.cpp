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

process::SchedulerTimes times(double ran_ns, std::uint64_t slices) {
  process::SchedulerTimes made;
  made.ran_ns = static_cast<std::uint64_t>(ran_ns);
  made.slices = slices;
  return made;
}

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

TEST(CostEstimate, AnUnmeasuredRateHasNoUpperBound) {
  session::RecordOptions options;
  options.frequency_hz = 20'000;
  const std::string attached = cost_line(options, TargetActivity{5, 1, 1234.5}),
                    launched = cost_line(options, std::nullopt);
  EXPECT_THAT(attached,
              HasSubstr("expected cost: at least 3.2 % of one CPU as it runs now: samples at least 2.8 % "
                        "(1.00 CPUs busy, 20000 Hz; how much more is not known above 1,000 Hz), "));
  EXPECT_THAT(launched,
              HasSubstr("samples at least 2.8 % for each busy CPU (20000 Hz; how much more is not known "
                        "above 1,000 Hz), "));
  options.frequency_hz = 999;
  EXPECT_THAT(cost_line(options, std::nullopt), Not(HasSubstr("not known")));
}

TEST(CostEstimate, ActivityIsWhatChangedBetweenTwoReadings) {
  EXPECT_EQ(activity_between({}, {.time_ns = 1'000'000'000, .processes = {}}), std::nullopt)
      << "it has ended";
  EXPECT_EQ(activity_between({}, {.time_ns = 1'000'000, .processes = {{7, {1, {}}}}}), std::nullopt)
      << "too short";
  const ActivityReading first{.time_ns = 0,
                              .processes = {{7, {3, {{7, times(4e9, 100)}, {8, times(1e9, 900)}, {9, {}}}}}}};
  const ActivityReading second{
      .time_ns = 500'000'000,
      .processes = {{7, {3, {{7, times(4.5e9, 150)}, {9, times(1e8, 10)}, {10, times(4e8, 40)}}}}}};
  const auto activity = activity_between(first, second);
  ASSERT_TRUE(activity);
  EXPECT_EQ(activity->threads, 3u);
  EXPECT_DOUBLE_EQ(activity->busy_cpus, 2) << "of 10, which began meanwhile, all";
  EXPECT_DOUBLE_EQ(activity->switches_per_s, 200) << "8 has ended, and took its counts with it";
}

// Of 600 threads that each ran for an hour one more is there at the second reading: it is no hour in half a second.
TEST(CostEstimate, ThreadsThatAreReadStandForTheOthersInWhatTheyDidMeanwhile) {
  ActivityReading first{.time_ns = 0, .processes = {{7, {600, {}}}}};
  for (int tid = 0; tid < 512; ++tid) first.processes[7].read[tid] = times(3.6e12, 1'000'000);
  ActivityReading second = first;
  second.time_ns = 500'000'000;
  second.processes[7].threads = 1022;
  for (auto& [tid, of] : second.processes[7].read) of = times(3.6e12 + 5e5, 1'000'001);
  second.processes[7].read.erase(3);
  second.processes[7].read[512] = times(3.6e12, 1'000'000);  // 3 ended, so this one came in reach
  const auto activity = activity_between(first, second);
  ASSERT_TRUE(activity);
  EXPECT_NEAR(activity->busy_cpus, 1022 * 1e-3, 1e-9);
  EXPECT_NEAR(activity->switches_per_s, 1022 * 2, 1e-6);
}

// Recordings of three Python programs: what they did, and how large the file was.
TEST(SizeEstimate, HoldsMeasuredRecordings) {
  struct Row {
    std::uint32_t frequency_hz;
    double busy_cpus, switches_per_s, seconds, bytes;
  };
  for (const Row& row : {Row{999, 0.3225, 355, 4, 40'726}, Row{999, 0.3034, 290, 12, 81'754},
                         Row{999, 0.4001, 126'009, 4, 26'458}, Row{999, 0.3363, 104'300, 12, 56'352},
                         Row{999, 0, 0, 12, 12'908}, Row{99, 0.0704, 41, 12, 31'311}}) {
    session::RecordOptions options;
    options.frequency_hz = row.frequency_hz;
    const SizeEstimate size = estimate_size(options, {2, row.busy_cpus, row.switches_per_s}, row.seconds);
    EXPECT_LE(size.all().low, row.bytes) << row.bytes;
    EXPECT_GE(size.all().high, row.bytes) << row.bytes;
  }
}

TEST(SizeEstimate, IsOfTheDurationAndOfWhatIsRecorded) {
  session::RecordOptions options;
  const TargetActivity activity{5, 1, 1000};
  const SizeEstimate minute = estimate_size(options, activity, 60),
                     hour = estimate_size(options, activity, 3600);
  EXPECT_DOUBLE_EQ(hour.course.high, 60 * minute.course.high);
  EXPECT_DOUBLE_EQ(hour.start.high, minute.start.high);
  EXPECT_THAT(size_line(options, activity), HasSubstr(" for the first minute"));
  EXPECT_THAT(size_line(options, std::nullopt), HasSubstr("with one busy CPU and 1,000 switches/s"));
  options.duration_s = 30;
  options.cpu = options.off_cpu = false;
  EXPECT_EQ(size_line(options, activity), "expected size: 25.4 KiB to 102.5 KiB for 30.00 s");
}

TEST(CostEstimate, ReadsTheThreadsOfAProcess) {
  const ActivityReading first = read_activity({::getpid()});
  ASSERT_GE(first.threads(), 1u);
  for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const ActivityReading second = read_activity({::getpid()});
  const std::int32_t self = ::getpid();
  const auto &before = first.processes.at(self).read.at(self),
             &after = second.processes.at(self).read.at(self);
  EXPECT_GE(after.slices, before.slices + 20);
  EXPECT_GE(after.ran_ns, before.ran_ns);
  EXPECT_GT(second.time_ns, first.time_ns);
  EXPECT_EQ(read_activity({1 << 30}).threads(), 0u) << "there is no such process";
}

}  // namespace
}  // namespace fathom::cli
