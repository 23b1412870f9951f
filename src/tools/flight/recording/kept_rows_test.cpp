#include "tools/flight/recording/kept_rows.h"

#include <gtest/gtest.h>

#include "analysis/heap/hand_made_heap.h"

namespace fathom::flight {
namespace {

constexpr std::uint64_t kSecond = kSecondNs;

class Recorded : public analysis::HandMadeHeap {
 public:
  Recorded() {
    const auto app = module("node");
    main = process(10, "node");
    worker = thread(main, 10, "node");
    run = stack({frame(app, {"main"}), frame(app, {"run"})});
  }
  void sample_at(std::uint64_t second) {
    model::Sample sample;
    sample.time_ns = profile.meta.start_ns + second * kSecond;
    sample.thread = worker;
    sample.stack = run;
    sample.end = WALK_ROOT;
    profile.samples.push_back(sample);
    ++profile.quality.samples;
    ++profile.quality.complete;
  }
  void point_at(double second) {
    if (profile.series.empty())
      profile.series.push_back({builder.string("memory.rss_anon"), builder.string("bytes"), 10, {}});
    profile.series[0].points.push_back(
        {profile.meta.start_ns + static_cast<std::uint64_t>(second * 1e9), second});
  }
  void look_at(std::uint64_t second, std::size_t rows) {
    model::MemoryRange row;
    row.time_ns = profile.meta.start_ns + second * kSecond;
    row.process = main;
    row.rss_bytes = second;
    for (std::size_t i = 0; i < rows; ++i) profile.memory_ranges.push_back(row);
  }
  // As a recorder does after each write.
  void clear() {
    profile.samples.clear();
    profile.heap.rows.clear();
    profile.memory_ranges.clear();
    for (auto& series : profile.series) series.points.clear();
  }
  model::ProcessId main;
  model::ThreadId worker;
  model::StackId run;
};

TEST(KeptRows, SamplesOfTheLastMinuteStayAndTheOthersAreCounted) {
  Recorded recorded;
  KeptRows kept;
  for (std::uint64_t second = 0; second < 100; ++second) {
    recorded.sample_at(second);
    kept.take(recorded.profile);
    EXPECT_TRUE(recorded.profile.samples.empty());
  }
  kept.lend(recorded.profile);
  ASSERT_EQ(recorded.profile.samples.size(), 61U);
  EXPECT_EQ(recorded.profile.samples.back().time_ns, recorded.profile.meta.start_ns + 99 * kSecond);
  EXPECT_EQ(kept.dropped().samples, 39U);
  EXPECT_EQ(recorded.profile.quality.samples, 61U);
  EXPECT_EQ(recorded.profile.quality.complete, 61U);
  EXPECT_TRUE(model::check(recorded.profile).has_value());
}

TEST(KeptRows, NoMoreRowsAreKeptThanAreAllowedHoweverFastTheyCome) {
  Recorded recorded;
  KeepLimits limits;
  limits.most_rows = 10;
  KeptRows kept(limits);
  for (int i = 0; i < 25; ++i) recorded.sample_at(1);
  kept.take(recorded.profile);
  kept.lend(recorded.profile);
  EXPECT_EQ(recorded.profile.samples.size(), 10U);
  EXPECT_EQ(kept.dropped().samples, 15U);
}

TEST(KeptRows, PointsGetRarerWithTheirAgeAndStayInOrder) {
  Recorded recorded;
  KeptRows kept;
  for (int tick = 0; tick < 100'000; ++tick) {  // 10,000 s
    recorded.point_at(tick * 0.1);
    kept.take(recorded.profile);
  }
  kept.lend(recorded.profile);
  const auto& points = recorded.profile.series[0].points;
  EXPECT_LE(points.size(), 601U + 361U + 18U);
  EXPECT_NEAR(points.back().value, 9999.9, 1e-6);
  EXPECT_EQ(points.front().value, 0);  // 10,000 s are less than a week
  std::size_t last_minute = 0, last_hour = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i > 0) {
      EXPECT_LT(points[i - 1].time_ns, points[i].time_ns);
    }
    last_minute += points[i].value >= 9939.85;
    last_hour += points[i].value >= 6399.85;
  }
  EXPECT_GE(last_minute, 600U);
  EXPECT_NEAR(static_cast<double>(last_hour - last_minute), 354, 3);
}

// Each second a sample, a point and a slice of the heap, and each minute a look at the mappings.
TEST(KeptRows, ASimulatedWeekKeepsNoMoreThanItsFirstDay) {
  constexpr std::uint64_t kDay = 86'400;
  Recorded recorded;
  const auto site = recorded.site(recorded.run);
  model::Profile& profile = recorded.profile;
  KeptRows kept;
  struct Rows {
    std::size_t samples, looks, slices, heap_rows, points;
  };
  std::vector<Rows> days;
  for (std::uint64_t second = 0; second < 7 * kDay; ++second) {
    recorded.sample_at(second);
    recorded.point_at(static_cast<double>(second));
    if (second % 60 == 0) recorded.look_at(second, 10);
    recorded.slice();
    recorded.row(site, {2, 200}, {2, 200});
    kept.take(profile);
    if (second % kDay != kDay - 1) continue;
    kept.lend(profile);
    days.push_back({profile.samples.size(), profile.memory_ranges.size(), profile.heap.slices.size(),
                    profile.heap.rows.size(), profile.series[0].points.size()});
    recorded.clear();
  }
  ASSERT_EQ(days.size(), 7U);
  for (const Rows& day : days) {
    EXPECT_EQ(day.samples, 61U);
    EXPECT_EQ(day.looks, days[0].looks);
    EXPECT_LE(day.slices, 512U);
    EXPECT_LE(day.heap_rows, 512U);
    EXPECT_LE(day.points, 61U + 361U + 7 * 144U);
  }
  EXPECT_EQ(kept.dropped().samples, 7 * kDay - 61);
}

TEST(KeptRows, WhatIsWrittenTwiceIsTheSame) {
  Recorded recorded;
  KeptRows kept;
  recorded.sample_at(1);
  recorded.point_at(1);
  recorded.look_at(1, 2);
  kept.take(recorded.profile);
  kept.lend(recorded.profile);
  const auto first = recorded.profile.samples;
  const auto points = recorded.profile.series;
  const auto looks = recorded.profile.memory_ranges;
  recorded.clear();
  kept.take(recorded.profile);
  kept.lend(recorded.profile);
  EXPECT_EQ(recorded.profile.samples, first);
  EXPECT_EQ(recorded.profile.series, points);
  EXPECT_EQ(recorded.profile.memory_ranges, looks);
}

TEST(KeptRows, FirstLookAndTheNewestStay) {
  Recorded recorded;
  KeepLimits limits;
  limits.looks = 3;
  KeptRows kept(limits);
  for (std::uint64_t second = 1; second <= 10; ++second) recorded.look_at(second, 2);
  kept.take(recorded.profile);
  kept.lend(recorded.profile);
  std::vector<std::uint64_t> seconds;
  for (const auto& row : recorded.profile.memory_ranges) seconds.push_back(row.rss_bytes);
  EXPECT_EQ(seconds, (std::vector<std::uint64_t>{1, 1, 9, 9, 10, 10}));
  EXPECT_EQ(kept.dropped().looks, 7U);
}

// From a leak of 3 blocks a second next to a cache of which all but one block is freed again.
TEST(KeptRows, FoldedSlicesOfTheHeapKeepEveryBlockAndByte) {
  Recorded recorded;
  auto& heap = recorded.profile.heap;
  const auto leak = recorded.site(recorded.run);
  const auto cache = recorded.site(recorded.run);
  KeepLimits limits;
  limits.slices = 8;
  KeptRows kept(limits);
  for (int second = 0; second < 100; ++second) {
    recorded.slice();
    recorded.row(leak, {3, 300});
    auto& row = recorded.row(cache, {10, 1000}, {second == 0 ? 9.0 : 10.0, second == 0 ? 900.0 : 1000.0});
    row.allocated_variance.bytes = 50;
    row.freed_variance.bytes = 40;
    row.churn_variance = 7;
    const std::uint64_t peak_ns = heap.slices.back().end_ns - 1;
    heap.slices.back().peak_ns = peak_ns;
    kept.take(recorded.profile);
  }
  kept.lend(recorded.profile);
  EXPECT_LE(heap.slices.size(), 8U);
  EXPECT_GE(heap.slices.size(), 4U);
  EXPECT_EQ(heap.slices.front().start_ns, recorded.profile.meta.start_ns);
  EXPECT_EQ(heap.slices.back().live_bytes, 100 * 300 + 100);
  for (std::size_t i = 1; i < heap.slices.size(); ++i)
    EXPECT_EQ(heap.slices[i].start_ns, heap.slices[i - 1].end_ns);
  model::HeapSum leaked, cached, freed;
  double variance = 0;
  for (const model::HeapRow& row : heap.rows) {
    (row.site == leak ? leaked : cached).bytes += row.allocated.bytes;
    (row.site == leak ? leaked : cached).blocks += row.allocated.blocks;
    freed.bytes += row.freed.bytes;
    variance += row.allocated_variance.bytes;
    if (row.slice.value == 0) {
      EXPECT_EQ(row.churn_variance, row.freed_variance.bytes);
    }
  }
  EXPECT_EQ(leaked, (model::HeapSum{300, 30'000}));
  EXPECT_EQ(cached, (model::HeapSum{1000, 100'000}));
  EXPECT_EQ(freed.bytes, 900 + 99 * 1000);
  EXPECT_EQ(variance, 5000);
  EXPECT_TRUE(model::check(recorded.profile).has_value());
}

TEST(KeptRows, HeapOfAnotherProcessIsFoldedApart) {
  Recorded recorded;
  auto& heap = recorded.profile.heap;
  heap.heaps.push_back(heap.heaps[0]);
  const auto first = recorded.site(recorded.run);
  const auto second = recorded.site(recorded.run);
  heap.sites[second.value].heap = {1};
  KeepLimits limits;
  limits.slices = 4;
  KeptRows kept(limits);
  for (int i = 0; i < 20; ++i) {
    for (const std::uint32_t id : {0U, 1U}) {
      recorded.slice();
      heap.slices.back().heap = {id};
      heap.slices.back().start_ns = recorded.profile.meta.start_ns + static_cast<std::uint64_t>(i) * kSecond;
      heap.slices.back().end_ns = heap.slices.back().start_ns + kSecond;
      recorded.row(id == 0 ? first : second, {1, id == 0 ? 10.0 : 7.0});
    }
    kept.take(recorded.profile);
  }
  kept.lend(recorded.profile);
  double bytes[2] = {};
  for (const model::HeapRow& row : heap.rows) {
    const std::uint32_t id = heap.slices[row.slice.value].heap.value;
    EXPECT_EQ(heap.sites[row.site.value].heap.value, id);
    bytes[id] += row.allocated.bytes;
  }
  EXPECT_EQ(bytes[0], 200);
  EXPECT_EQ(bytes[1], 140);
  EXPECT_LE(heap.slices.size(), 8U);
}

}  // namespace
}  // namespace fathom::flight
