#include "analysis/heap/heap_history.h"

#include <gtest/gtest.h>

#include "analysis/heap/hand_made_heap.h"

namespace fathom::analysis {
namespace {

std::vector<HeapHistory> histories(const model::Profile& profile, const Selection& selection = {}) {
  return heap_histories(profile, selection, HeapSums(profile, selection));
}

TEST(HeapHistory, CellsAddUpToTheTablesOfTheReport) {
  const HandMadeHeap hand = small_heap();
  const auto all = histories(hand.profile);
  ASSERT_EQ(all.size(), 1u);
  const HeapHistory& history = all[0];
  EXPECT_EQ(history.ends_s, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(history.function_count, 4u);
  const HeapSums sums(hand.profile, {});
  EXPECT_DOUBLE_EQ(history.whole.live_before(3).bytes, sums.total().live.bytes.value);
  model::HeapSum functions;
  for (const HeapTrack& track : history.functions) functions.bytes += track.live_before(3).bytes;
  EXPECT_DOUBLE_EQ(functions.bytes, sums.total().live.bytes.value);
}

TEST(HeapHistory, AWindowStartsWithWhatWasLive) {
  const HandMadeHeap hand = small_heap();
  const auto all = histories(hand.profile, {.from_ns = 1'000'000'000});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].ends_s, (std::vector<double>{2, 3}));
  EXPECT_FALSE(all[0].from_zero);
  EXPECT_GT(all[0].whole.before.bytes.value, 1'000'000);
  EXPECT_DOUBLE_EQ(all[0].live(all[0].whole, 2).back().value, all[0].whole.live_before(2).bytes);
}

// Like memory that the program maps itself, which is reported once a second.
TEST(HeapHistory, LongSlicesOfAnotherHeapAreSpreadOverTheClock) {
  HandMadeHeap hand;
  const auto app = hand.module("app");
  hand.profile.heap.heaps[0].process = hand.process(10, "app");
  const auto site = hand.site(hand.stack({hand.frame(app, {"main"})}));
  for (int i = 0; i < 4; ++i) {
    hand.slice();
    hand.row(site, {1, 100});
  }
  model::HeapTables& heap = hand.profile.heap;
  heap.heaps.push_back(heap.heaps[0]);
  model::HeapSlice slice;
  slice.heap = {1};
  slice.start_ns = heap.slices[0].start_ns;
  slice.end_ns = heap.slices[3].end_ns;
  heap.slices.push_back(slice);
  model::HeapSite mapped = heap.sites[0];
  mapped.heap = {1};
  heap.sites.push_back(mapped);
  model::HeapRow row;
  row.slice = {4};
  row.site = {1};
  row.allocated = {4, 4000};
  heap.rows.push_back(row);
  hand.profile.meta.end_ns = slice.end_ns;

  const auto all = histories(hand.profile);
  ASSERT_EQ(all.size(), 1u);
  const auto points = all[0].live(all[0].whole, 4);
  ASSERT_EQ(points.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(points[i].value, 1100.0 * static_cast<double>(i + 1));
}

TEST(HeapHistory, ManySlicesBecomeFewCells) {
  HandMadeHeap hand;
  hand.profile.heap.heaps[0].process = hand.process(10, "app");
  const auto site = hand.site(hand.stack({hand.frame(hand.module("app"), {"main"})}));
  for (int i = 0; i < 1000; ++i) {
    hand.slice();
    hand.row(site, {1, 10});
  }
  hand.profile.meta.end_ns = hand.profile.heap.slices.back().end_ns;
  const auto all = histories(hand.profile);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_LE(all[0].ends_s.size(), 241u);
  EXPECT_GE(all[0].ends_s.size(), 200u);
  EXPECT_DOUBLE_EQ(all[0].whole.live_before(all[0].ends_s.size()).bytes, 10'000);
}

}  // namespace
}  // namespace fathom::analysis
