#include "analysis/core/heap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/core/call_tree.h"
#include "analysis/core/functions.h"
#include "analysis/heap/hand_made_heap.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

using model::Metric;

constexpr std::uint64_t kSecond = 1'000'000'000;

// "f 100" for each function with a value of its own, largest first.
std::vector<std::string> leaves(const model::Profile& profile, const Selection& selection) {
  TreeOptions options;
  options.selection = selection;
  const CallTree tree = build_call_tree(profile, options);
  std::vector<std::string> texts;
  for (const FunctionRow& row : function_table(tree, SortBy::kSelf))
    if (row.self != 0) texts.push_back(tree.names[row.name] + " " + std::to_string(row.self));
  return texts;
}
using Texts = std::vector<std::string>;

TEST(HeapMetrics, WhatRoundingLeavesOfAPlaceIsNothingAndHasNoError) {
  HandMadeHeap hand(model::HeapMode::kSampled);
  hand.process(7, "server");
  const auto cache = hand.site(hand.stack({hand.frame(hand.module("server"), {"Cache::put"})}));
  hand.slice();
  hand.row(cache, {0.1 + 0.2, 0.3 * 4096}).allocated_variance = {4, 4096};
  hand.slice();
  hand.row(cache, {}, {0.3, 0.3 * 4096}).freed_variance = {1, 1024};
  const HeapSums sums(hand.profile, {});
  EXPECT_EQ(sums.sites()[cache.value].live.blocks.value, 0);
  EXPECT_EQ(sums.sites()[cache.value].live.blocks.error(), 0) << "never 0 ± 0";
  EXPECT_EQ(sums.sites()[cache.value].leaked.bytes.error(), 0);
}

TEST(HeapMetrics, OfAServerAreWhatItsSitesDid) {
  const model::Profile profile = small_heap().profile;
  const auto of = [&](Metric metric) { return leaves(profile, {.metric = metric}); };
  EXPECT_EQ(of(Metric::kHeapAllocated),
            (Texts{"std::vector<char>::_M_default_append(unsigned long) 8000000",
                   "server::request::parse 6000000", "server::Cache::put(int) 1100000", "strdup 2560"}));
  EXPECT_EQ(of(Metric::kHeapAllocations),
            (Texts{"server::request::parse 60000", "server::Cache::put(int) 1100", "strdup 40",
                   "std::vector<char>::_M_default_append(unsigned long) 20"}));
  EXPECT_EQ(of(Metric::kHeapLive), (Texts{"server::Cache::put(int) 1000000", "strdup 2560"}));
  EXPECT_EQ(of(Metric::kHeapLeaked), of(Metric::kHeapLive));
  EXPECT_EQ(of(Metric::kHeapPeak),
            (Texts{"std::vector<char>::_M_default_append(unsigned long) 6000000",
                   "server::Cache::put(int) 1000000", "server::request::parse 1000", "strdup 960"}));
  EXPECT_EQ(of(Metric::kHeapTemporary), (Texts{"server::request::parse 48000"}));
  EXPECT_EQ(of(Metric::kHeapShortLived), (Texts{"server::request::parse 58500"}));
}

TEST(HeapMetrics, CountBlocksWhereAskedTo) {
  const model::Profile profile = small_heap().profile;
  const Selection live{.metric = Metric::kHeapLive, .heap_unit = HeapUnit::kBlocks};
  EXPECT_EQ(leaves(profile, live), (Texts{"server::Cache::put(int) 1000", "strdup 40"}));
  const Selection temporary{.metric = Metric::kHeapTemporary, .heap_unit = HeapUnit::kBytes};
  EXPECT_EQ(leaves(profile, temporary), (Texts{"server::request::parse 4800000"}));
  EXPECT_EQ(unit_of(profile, live), "blocks");
  EXPECT_EQ(unit_of(profile, temporary), "bytes");
}

TEST(HeapMetrics, WindowTakesTheSlicesWhoseMiddleLiesInIt) {
  const model::Profile profile = small_heap().profile;
  const Selection second{.metric = Metric::kHeapAllocated, .from_ns = kSecond, .to_ns = 2 * kSecond};
  EXPECT_EQ(leaves(profile, second),
            (Texts{"std::vector<char>::_M_default_append(unsigned long) 8000000", "strdup 640"}));
  const Selection at{.metric = Metric::kHeapLive, .to_ns = kSecond};
  EXPECT_EQ(leaves(profile, at),
            (Texts{"server::Cache::put(int) 1000000", "server::request::parse 1000", "strdup 640"}));
}

TEST(HeapMetrics, GrowthIsTheLiveDifferenceAndShrinkingIsSeparate) {
  const model::Profile profile = small_heap().profile;
  TreeOptions options;
  options.selection = {.metric = Metric::kHeapGrowth, .from_ns = kSecond};
  const CallTree tree = build_call_tree(profile, options);
  EXPECT_EQ(tree.total, 1920);   // the leak
  EXPECT_EQ(tree.shrunk, 1000);  // the requests
}

// As in a window of a recording without end.
TEST(HeapMetrics, WhatWasLiveWhenTheRecordingBeganIsNotAllocatedInIt) {
  HandMadeHeap hand(model::HeapMode::kExact);
  hand.profile.meta.end_ns = hand.profile.meta.start_ns + 2 * kSecond;
  const auto process = hand.process(7, "server");
  const auto cache = hand.site(hand.stack({hand.frame(hand.module("server"), {"Cache::put"})}));
  hand.profile.heap.heaps[0].process = process;
  hand.slice();
  hand.row(cache, {10, 1000});
  hand.profile.heap.slices[0].start_ns -= kSecond / 2;
  hand.profile.heap.slices[0].end_ns = hand.profile.meta.start_ns;
  hand.profile.heap.heaps[0].start_ns -= kSecond / 2;
  hand.slice();
  hand.row(cache, {5, 500}, {2, 200});
  hand.slice();
  hand.row(cache, {1, 50});
  const HeapSums sums(hand.profile, {});
  EXPECT_EQ(sums.total().before.bytes.value, 1000);
  EXPECT_EQ(sums.total().allocated.bytes.value, 550);
  EXPECT_EQ(sums.total().freed.blocks.value, 2);
  EXPECT_EQ(sums.total().live.bytes.value, 1350);
  EXPECT_EQ(sums.total().growth.bytes.value, 350);
  EXPECT_EQ(sums.window_s(), 2);
  const HeapSums second(hand.profile, {.from_ns = kSecond});
  EXPECT_EQ(second.total().before.bytes.value, 1300);
  EXPECT_EQ(second.total().allocated.bytes.value, 50);
}

TEST(HeapMetrics, AreOfTheThreadThatAllocated) {
  const model::Profile profile = small_heap().profile;
  EXPECT_EQ(leaves(profile, {.metric = Metric::kHeapAllocated, .thread = "loader"}),
            (Texts{"std::vector<char>::_M_default_append(unsigned long) 8000000"}));
  EXPECT_TRUE(leaves(profile, {.metric = Metric::kHeapAllocated, .pid = 11}).empty());
}

TEST(HeapMetrics, PeakOfAKilledRecordingIsThatOfTheFullestSlice) {
  model::Profile profile = small_heap().profile;
  profile.heap.summaries.clear();
  const HeapSums sums(profile, {});
  EXPECT_FALSE(sums.peak().exact);
  EXPECT_EQ(sums.peak().total.bytes.value, 1'002'560);
  EXPECT_EQ(sums.peak().time_ns, profile.heap.slices[2].end_ns);
}

TEST(HeapMetrics, PeakOfTwoHeapsIsThatOfTheLargerAndWhatTheOtherHadThen) {
  model::Profile profile = small_heap().profile;
  auto& heap = profile.heap;
  heap.heaps.push_back(heap.heaps[0]);
  heap.heaps[1].peak_bytes = 500;
  heap.sites.push_back({{1}, {1}, {0}, model::kNoThread, 1});
  const model::HeapSiteId mapped{static_cast<std::uint32_t>(heap.sites.size() - 1)};
  for (std::uint32_t second = 0; second < 3; ++second) {
    model::HeapSlice slice = heap.slices[second];
    slice.heap = {1};
    heap.slices.push_back(slice);
    model::HeapRow row;
    row.slice = {3 + second};
    row.site = mapped;
    row.allocated = {1, 100};
    heap.rows.push_back(row);
  }
  heap.summaries.push_back({mapped, {5, 500}, {}, 0});
  ASSERT_TRUE(model::check(profile));
  const HeapSums sums(profile, {});
  EXPECT_EQ(sums.peak().sites[mapped.value].bytes.value, 200);  // 1.5 s: two of its slices had begun
  EXPECT_EQ(sums.peak().total.bytes.value, 7'001'960 + 200);
  EXPECT_FALSE(sums.peak().exact);
}

TEST(HeapMetrics, WindowsSideBySideAddUpToTheWhole) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const model::Profile profile = model::random_profile(seed);
    if (profile.heap.slices.empty()) continue;
    const std::uint64_t middle = profile.heap.slices[profile.heap.slices.size() / 2].start_ns -
                                 std::min(profile.meta.start_ns, profile.heap.slices[0].start_ns);
    const HeapSums whole(profile, {}), first(profile, {.to_ns = middle}),
        second(profile, {.from_ns = middle});
    const double allocated = whole.total().allocated.bytes.value;
    EXPECT_NEAR(first.total().allocated.bytes.value + second.total().allocated.bytes.value, allocated,
                1e-9 * allocated);
    double of_sites = 0;
    for (const HeapSiteSums& site : whole.sites()) of_sites += site.allocated.bytes.value;
    EXPECT_NEAR(of_sites, allocated, 1e-9 * allocated);
  }
}

TEST(HeapMetrics, OfSamplesCarryTheirError) {
  const model::Profile profile = small_heap(model::HeapMode::kSampled).profile;
  const HeapSums sums(profile, {});
  const HeapAmount allocated = sums.total().allocated.bytes;
  // As of so many samples of the mean distance, and four more for their being few.
  const double mean = 512u << 10;
  EXPECT_DOUBLE_EQ(allocated.error(),
                   1.959963984540054 * std::sqrt(allocated.value * mean + 4 * mean * mean));
  // What came and went within a slice adds nothing to the error of what stayed.
  const HeapAmount growth = sums.total().growth.bytes;
  EXPECT_LT(growth.error(), allocated.error() / 2);
  TreeOptions options;
  options.selection = {.metric = Metric::kHeapAllocated};
  const CallTree tree = build_call_tree(profile, options);
  EXPECT_NEAR(tree.effective_samples, static_cast<double>(tree.total) / (512u << 10), 0.1);
  EXPECT_EQ(build_call_tree(small_heap().profile, options).effective_samples, kExact);
}

TEST(HeapMetrics, OfAnyProfileAddUp) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const model::Profile profile = model::random_profile(seed);
    if (profile.heap.empty()) continue;
    for (auto i = static_cast<int>(Metric::kHeapLive); i <= static_cast<int>(model::kLastMetric); ++i) {
      TreeOptions options;
      options.selection.metric = static_cast<Metric>(i);
      std::int64_t self = 0;
      const CallTree tree = build_call_tree(profile, options);
      for (const TreeNode& node : tree.nodes) {
        EXPECT_GE(node.self, 0);
        self += node.self;
      }
      EXPECT_EQ(self, tree.total);
      EXPECT_EQ(tree.nodes[0].total, tree.total);
      options.reverse = true;
      EXPECT_EQ(build_call_tree(profile, options).total, tree.total);
    }
  }
}

}  // namespace
}  // namespace fathom::analysis
