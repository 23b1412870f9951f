#include "tools/watch/history.h"

#include <gtest/gtest.h>

namespace fathom::watch {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000, kMiBOfHistory = 1 << 20;

Look look_at(std::uint64_t second, std::uint64_t anonymous_mib, std::uint64_t heap_mib) {
  Look look;
  look.time_ns = (second + 1) * kSecond;
  look.figures.anonymous = anonymous_mib * kMiBOfHistory;
  look.figures.file = 100 * kMiBOfHistory;
  look.figures.rss = look.figures.anonymous + look.figures.file;
  look.figures.minor_faults = second * 1000;
  look.figures.major_faults = second * 10;
  look.pressure = sources::Pressure{second * 20'000, 0};
  auto composition = std::make_shared<Composition>();
  composition->time_ns = look.time_ns;
  composition->lines.rss_bytes = look.figures.rss;
  composition->lines.lines.push_back(
      {.kind = "heap", .name = "heap of brk", .bytes = heap_mib * kMiBOfHistory});
  look.composition = composition;
  look.limits.limits.push_back(
      {sources::LimitKind::kControlGroup, "/a", 1000 * kMiBOfHistory, look.figures.rss, 100 * kMiBOfHistory});
  return look;
}

TEST(History, OneLookSaysNothingOfChange) {
  const View view = History(7, "node").add(look_at(0, 10, 5), 0, 0, {"x"});
  EXPECT_EQ(view.pid, 7);
  EXPECT_FALSE(view.rss_change || view.rss_slope || view.minor_faults_per_s || view.pressure_some);
  EXPECT_FALSE(view.lines[0].change || view.time_left);
  ASSERT_TRUE(view.limit);
  EXPECT_EQ(view.limit->room(), 990 * kMiBOfHistory);
  EXPECT_EQ(view.missing, std::vector<std::string>{"x"});
}

TEST(History, AProcessWithoutAnyMemoryLeftIsEnding) {
  History history(7, "node");
  EXPECT_FALSE(history.is_of_an_ending_process(look_at(0, 0, 0)));  // a thread of the kernel never has any
  history.add(look_at(0, 10, 5), 0, 0, {});
  Look given_back = look_at(1, 0, 0);
  given_back.figures.rss = 0;
  EXPECT_TRUE(history.is_of_an_ending_process(given_back));
  EXPECT_FALSE(history.is_of_an_ending_process(look_at(1, 10, 5)));
}

TEST(History, DescriptorsThatOnlyBecomeMoreHaveARateAndATimeToTheLimit) {
  History history(7, "node");
  View view;
  for (std::uint64_t second = 0; second <= 20; ++second) {
    Look look = look_at(second, 10, 5);
    look.descriptors = 100 + 20 * second;
    look.figures.threads = second < 10 ? 4 : 40;  // a step is no growth
    look.children = process::ChildCounts{5 + second % 3, second % 3};
    look.counted = {{model::CountedLimit::Kind::kDescriptors, 100 + 20 * second, 1000}};
    view = history.add(look, 0, 0, {});
  }
  ASSERT_EQ(view.growing_counts.size(), 1U);
  EXPECT_EQ(view.growing_counts[0].resource, analysis::CountedResource::kDescriptors);
  EXPECT_NEAR(view.growing_counts[0].per_s, 20, 0.5);
  EXPECT_EQ(view.growing_counts[0].now, 500U);
  ASSERT_TRUE(view.growing_counts[0].left_s);
  EXPECT_NEAR(*view.growing_counts[0].left_s, 25, 1);
}

TEST(History, SteadyGrowthHasASlopeAndATimeToTheLimit) {
  History history(7, "node");
  View view;
  for (std::uint64_t second = 0; second <= 20; ++second)
    view =
        history.add(look_at(second, 10 + 2 * second, 5 + second), second * 5'000'000, 30 * kMiBOfHistory, {});
  EXPECT_EQ(view.rss_change, static_cast<std::int64_t>(2 * kMiBOfHistory));
  ASSERT_TRUE(view.rss_slope);
  EXPECT_NEAR(view.rss_slope->per_second, 2.0 * kMiBOfHistory, 1);
  EXPECT_EQ(view.lines[0].change, static_cast<std::int64_t>(kMiBOfHistory));
  EXPECT_NEAR(view.lines[0].slope->per_second, 1.0 * kMiBOfHistory, 1);
  EXPECT_NEAR(*view.minor_faults_per_s, 1000, 1e-6);
  EXPECT_NEAR(*view.major_faults_per_s, 10, 1e-6);
  EXPECT_NEAR(*view.pressure_some, 0.02, 1e-9);
  EXPECT_NEAR(view.own_cpu_share, 0.005, 1e-9);
  ASSERT_TRUE(view.time_left);
  // 50 MiB are held that the kernel cannot take back; 950 MiB at 2 MiB a second.
  EXPECT_NEAR(view.time_left->seconds, 475, 1e-3);
}

// A process that took 50 MiB a second was "level, not growing" until it was dead.
TEST(History, AFastRiseIsReportedBeforeTheSlopeIsCertain) {
  History history(7, "node");
  View view;
  for (std::uint64_t second = 0; second <= 60; ++second)
    view = history.add(look_at(second, 100, 5), 0, 0, {});
  EXPECT_FALSE(view.recent_rise) << "it was level";
  view = history.add(look_at(61, 150, 5), 0, 0, {});
  ASSERT_TRUE(view.recent_rise);
  EXPECT_EQ(view.recent_rise->bytes, 50 * kMiBOfHistory);
  EXPECT_NEAR(view.recent_rise->seconds, 1, 1e-6);
  ASSERT_TRUE(view.recent_rise->left_s);
  EXPECT_NEAR(*view.recent_rise->left_s, 17, 0.1) << "850 MiB are left at 50 MiB a second";
  for (std::uint64_t second = 62; second <= 66; ++second)
    view = history.add(look_at(second, 150, 5), 0, 0, {});
  ASSERT_TRUE(view.recent_rise);
  EXPECT_FALSE(view.recent_rise->left_s) << "it rose five seconds ago, and no more since";
  view = history.add(look_at(75, 150, 5), 0, 0, {});
  EXPECT_FALSE(view.recent_rise) << "it is level again";
}

TEST(History, ASmallRiseIsNoFastOne) {
  History history(7, "node");
  history.add(look_at(0, 100, 5), 0, 0, {});
  EXPECT_FALSE(history.add(look_at(1, 107, 5), 0, 0, {}).recent_rise) << "7 MiB";
  History large(8, "node");
  large.add(look_at(0, 400, 5), 0, 0, {});
  EXPECT_FALSE(large.add(look_at(1, 420, 5), 0, 0, {}).recent_rise) << "4 % of 500 MiB";
}

TEST(History, WhatDoesNotGrowMeetsNoLimit) {
  History history(7, "node");
  View view;
  for (std::uint64_t second = 0; second <= 20; ++second) view = history.add(look_at(second, 50, 5), 0, 0, {});
  EXPECT_TRUE(view.anonymous_slope);
  EXPECT_FALSE(view.time_left);
}

TEST(History, AnOldCompositionIsNotCountedTwice) {
  History history(7, "node");
  const Look first = look_at(0, 10, 5);
  history.add(first, 0, 0, {});
  Look second = look_at(5, 10, 9);
  second.composition = first.composition;
  const View view = history.add(second, 0, 0, {});
  EXPECT_EQ(view.lines[0].values.size(), 1u);
  EXPECT_EQ(view.lines[0].line.bytes, 5 * kMiBOfHistory);
  EXPECT_NEAR(view.composition_age_s, 5, 1e-9);
}

TEST(History, IsBounded) {
  History history(7, "node");
  View view;
  for (std::uint64_t second = 0; second < 2000; ++second) {
    Look look = look_at(second, 50, 5);
    auto composition = std::make_shared<Composition>(*look.composition);
    for (int i = 0; i < 100; ++i)
      composition->lines.lines.push_back({.kind = "file", .name = std::to_string(i), .bytes = 1});
    look.composition = composition;
    view = history.add(look, 0, 0, {});
  }
  EXPECT_LE(view.rss_values.size(), 600u);
  EXPECT_EQ(view.lines[0].values.size(), 120u);
  EXPECT_TRUE(view.lines[100].values.empty()) << "shown, and not remembered";
}

}  // namespace
}  // namespace fathom::watch
