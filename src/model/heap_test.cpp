#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "model/profile.h"
#include "model/random_profile.h"

namespace fathom::model {
namespace {

// One heap with one slice, one site and a row.
Profile small_heap() {
  Profile profile;
  Builder builder(profile);
  profile.processes.push_back({});
  profile.threads.push_back({});
  HeapTables& heap = profile.heap;
  heap.heaps.push_back({});
  heap.slices.push_back({{0}, 10, 20, 15, 100, 60, 2});
  heap.sites.push_back({{0}, builder.stack({0}, builder.frame({0}, {0x10})), {0}, kNoThread, 1});
  heap.hooks.push_back({{0}, builder.string("malloc"), {0}, HookKind::kSlot});
  heap.rows.push_back({{0}, {0}, {3, 100}, {1, 40}, {}, {}, {}, {}, 0});
  heap.summaries.push_back({{0}, {3, 100}, {}, 5});
  heap.histograms.push_back({{0}, HeapHistogramKind::kSize, 6, {3, 100}});
  heap.uses.push_back({{0}, 64, {1, 40}, {}});
  heap.returns.push_back({{0}, {2, 8192}});
  heap.blocks.push_back({{0}, 0x1000, 40, 11, 5, 0, 0, {0}, 0, false});
  return profile;
}

TEST(HeapTables, OfASmallHeapPassTheCheck) {
  const auto checked = check(small_heap());
  EXPECT_TRUE(checked) << checked.error().message;
}

TEST(HeapTables, RowThatLeadsOutOfItsTableIsRefusedByName) {
  const std::pair<const char*, std::function<void(HeapTables&)>> wrong[] = {
      {"heap 0: no such process", [](HeapTables& heap) { heap.heaps[0].process = {1}; }},
      {"heap 0: a sum that is not a number", [](HeapTables& heap) { heap.heaps[0].peak_bytes = NAN; }},
      {"hook 0: no such allocator", [](HeapTables& heap) { heap.hooks[0].allocator = {1}; }},
      {"hook 0: unknown kind", [](HeapTables& heap) { heap.hooks[0].kind = static_cast<HookKind>(4); }},
      {"heap slice 0: no such heap", [](HeapTables& heap) { heap.slices[0].heap = {1}; }},
      {"heap slice 0: ends before it starts", [](HeapTables& heap) { heap.slices[0].end_ns = 9; }},
      {"heap site 0: no such stack", [](HeapTables& heap) { heap.sites[0].stack = {2}; }},
      {"heap site 0: no such thread", [](HeapTables& heap) { heap.sites[0].thread = {1}; }},
      {"heap row 0: no such slice", [](HeapTables& heap) { heap.rows[0].slice = {1}; }},
      {"heap row 0: no such site", [](HeapTables& heap) { heap.rows[0].site = {1}; }},
      {"heap row 0: a sum that is not a number",
       [](HeapTables& heap) { heap.rows[0].freed.bytes = INFINITY; }},
      {"heap summary 0: no such site", [](HeapTables& heap) { heap.summaries[0].site = {1}; }},
      {"heap histogram 0: a bucket beyond the last",
       [](HeapTables& heap) { heap.histograms[0].bucket = 65; }},
      {"heap use 0: no such site", [](HeapTables& heap) { heap.uses[0].site = {1}; }},
      {"heap use 0: a sum that is not a number", [](HeapTables& heap) { heap.uses[0].foreign.bytes = -1; }},
      {"heap return 0: no such site", [](HeapTables& heap) { heap.returns[0].site = {1}; }},
      {"heap return 0: a sum that is not a number",
       [](HeapTables& heap) { heap.returns[0].given_back.blocks = -1; }},
      {"heap block 0: no such site", [](HeapTables& heap) { heap.blocks[0].site = {1}; }},
      {"heap block 0: no such thread", [](HeapTables& heap) { heap.blocks[0].freed_by = {1}; }},
      {"heap block 0: freed before it was allocated",
       [](HeapTables& heap) { heap.blocks[0].first_slice = 1; }},
      {"heap block 0: a life without end", [](HeapTables& heap) { heap.blocks[0].lifetime_ns = UINT64_MAX; }},
      {"allocator 0 is not the unknown allocator", [](HeapTables& heap) { heap.allocators.clear(); }},
  };
  for (const auto& [message, change] : wrong) {
    Profile profile = small_heap();
    change(profile.heap);
    const auto checked = check(profile);
    ASSERT_FALSE(checked) << message;
    EXPECT_EQ(checked.error().message, message);
  }
}

TEST(HeapTables, SliceAndSiteOfARowAreOfOneHeap) {
  Profile profile = small_heap();
  profile.heap.heaps.push_back({});
  profile.heap.slices[0].heap = {1};
  ASSERT_FALSE(check(profile));
  EXPECT_EQ(check(profile).error().message, "heap row 0: slice and site are of two heaps");
}

// Of each stack and thread, whatever their row numbers.
double allocated(const Profile& profile) {
  double sum = 0;
  for (const HeapRow& row : profile.heap.rows) sum += row.allocated.bytes;
  return sum;
}

// A block of `size` is met with the chance of 1 - exp(-size / mean), and stands for as many as that takes.
TEST(HeapWeight, OfASampledBlockIsWhatItsChanceLeavesOut) {
  for (const double size : {16.0, 4096.0, 65536.0, 1e6}) {
    const HeapWeight weight = weight_of(static_cast<std::uint64_t>(size), 65536);
    const double chance = 1 - std::exp(-size / 65536);
    EXPECT_NEAR(weight.sum.blocks * chance, 1, 1e-9) << size;
    EXPECT_NEAR(weight.sum.bytes * chance, size, 1e-6 * size) << size;
  }
  EXPECT_EQ(weight_of(100, 0).sum, (HeapSum{1, 100})) << "not sampled";
}

TEST(HeapMerge, OfTwoRecordingsKeepsBothHeapsAndAllTheirRows) {
  for_each_profile(60, [](const Profile& one) {
    const Profile two = random_profile(one.strings.size() + 1000);
    Profile both = one;
    merge(both, two);
    ASSERT_TRUE(check(both)) << check(both).error().message;
    EXPECT_EQ(both.heap.rows.size(), one.heap.rows.size() + two.heap.rows.size());
    const double sum = allocated(one) + allocated(two);
    EXPECT_NEAR(allocated(both), sum, 1e-9 * sum);
    EXPECT_LE(both.heap.heaps.size(), one.heap.heaps.size() + two.heap.heaps.size());
  });
}

TEST(HeapMerge, BlocksStayWithTheirSiteAndTheThreadThatFreedThem) {
  Profile one;
  one.processes.emplace_back().pid = 9;
  one.threads.emplace_back().tid = 9;
  const Profile two = small_heap();
  merge(one, two);
  ASSERT_TRUE(check(one)) << check(one).error().message;
  ASSERT_EQ(one.heap.blocks.size(), 1u);
  EXPECT_EQ(one.heap.blocks[0].freed_by, ThreadId{1});
  EXPECT_EQ(one.heap.blocks[0].size, 40u);
}

TEST(HeapMerge, OfTwoPartsOfOneRecordingIsOneHeapWhosePeakCountsOnce) {
  Profile whole = small_heap();
  Profile later = small_heap();
  whole.heap.heaps[0].end_ns = 20;
  later.heap.heaps[0].end_ns = 30;
  later.heap.heaps[0].events = 7;
  later.heap.slices[0] = {{0}, 20, 30, 25, 90, 50, 1};
  merge(whole, later);
  ASSERT_TRUE(check(whole));
  EXPECT_EQ(whole.heap.heaps.size(), 1u);
  EXPECT_EQ(whole.heap.heaps[0].events, 7u);  // of the part that ends later, and so knows more
  EXPECT_EQ(whole.heap.slices.size(), 2u);
  EXPECT_EQ(whole.heap.sites.size(), 1u);
  EXPECT_EQ(whole.heap.rows.size(), 2u);
  EXPECT_EQ(whole.heap.summaries.size(), 1u);
  EXPECT_EQ(whole.heap.histograms.size(), 1u);
  EXPECT_EQ(whole.heap.uses.size(), 1u);
  EXPECT_EQ(whole.heap.returns.size(), 1u);
}

}  // namespace
}  // namespace fathom::model
