#include "record/heap/probe_collector.h"

#include <gtest/gtest.h>

namespace fathom::sources::heap {
namespace {

constexpr std::uint64_t kInterval = 1 << 19;

HeapProbed alloc(std::uint64_t time_ns, std::uint64_t stack, std::uint64_t block, std::uint64_t size,
                 std::uint64_t weight = kInterval, std::int32_t tid = 7) {
  return {time_ns, 5, tid, stack, false, block, size, weight};
}
HeapProbed freed(std::uint64_t time_ns, std::uint64_t block, std::int32_t tid = 8) {
  return {time_ns, 5, tid, 0, true, block, 0, 0};
}

const SliceRow* row_of(const Slice& slice, std::uint32_t site) {
  for (const SliceRow& row : slice.rows)
    if (row.site == site) return &row;
  return nullptr;
}

TEST(ProbeCollector, ABlockStandsForItsWeight) {
  ProbeCollector collector(100, {});
  collector.take(alloc(200, 1, 0x1000, 1024));
  collector.take(alloc(300, 2, 0x2000, 2 * kInterval, 3 * kInterval));
  const auto slice = collector.slice(400, true);
  ASSERT_TRUE(slice);
  ASSERT_EQ(slice->rows.size(), 2U);
  EXPECT_EQ(slice->rows[0].sums.allocated, (Sum{512, kInterval}));
  EXPECT_EQ(slice->rows[1].sums.allocated, (Sum{1.5, 3.0 * kInterval}));
  EXPECT_EQ(slice->live, (Sum{513.5, 4.0 * kInterval}));
  EXPECT_EQ(slice->peak_bytes, 4.0 * kInterval);
  EXPECT_EQ(slice->peak_ns, 300U);
  // One crossing: the square of its weight. Three of a known interval: three times that.
  EXPECT_EQ(slice->rows[0].allocated_variance.bytes, 1.0 * kInterval * kInterval);
  EXPECT_EQ(slice->rows[1].allocated_variance.bytes, 3.0 * kInterval * kInterval);
  EXPECT_EQ(collector.counters().mean, kInterval);
}

TEST(ProbeCollector, AFreeTakesAwayWhatItsAllocationBrought) {
  ProbeCollector collector(0, {});
  collector.take(alloc(1'000, 1, 0x1000, 1024));
  collector.take(alloc(2'000, 1, 0x2000, 4096));
  collector.take(freed(5'001'000, 0x1000));
  const auto slice = collector.slice(9'000'000, true);
  const SliceRow* row = row_of(*slice, 1);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->sums.freed, (Sum{512, kInterval}));
  EXPECT_EQ(row->sums.short_lived, (Sum{}));  // it lived for 5 ms
  EXPECT_EQ(collector.live(), (Sum{128, kInterval}));
  const Summary summary = collector.summary(10'000'000);
  ASSERT_EQ(summary.sites.size(), 1U);
  EXPECT_EQ(summary.sites[0].longest_ns, 5'000'000U);
  EXPECT_EQ(summary.sites[0].peak, (Sum{640, 2.0 * kInterval}));
  ASSERT_EQ(summary.sites[0].ages_ns.size(), 1U);
  EXPECT_EQ(summary.sites[0].ages_ns[0].bucket, bucket_of(9'998'000));
  EXPECT_EQ(summary.sites[0].ages_ns[0].sum, (Sum{128, kInterval}));
}

TEST(ProbeCollector, FreesOfWhatIsNotKnownAreCountedAndChangeNothing) {
  ProbeCollector collector(0, {});
  collector.take(freed(1, 0x1000));
  collector.take(alloc(2, 1, 0x1000, 64));
  EXPECT_EQ(collector.counters().unknown_frees, 1U);
  EXPECT_EQ(collector.live().bytes, kInterval);
}

TEST(ProbeCollector, AnAddressThatIsHandedOutAgainWasFreed) {
  ProbeCollector collector(0, {});
  collector.take(alloc(1, 1, 0x1000, 64));
  collector.take(alloc(2, 2, 0x1000, 128));
  EXPECT_EQ(collector.counters().unseen_frees, 1U);
  EXPECT_EQ(collector.live(), (Sum{kInterval / 128.0, kInterval}));
}

TEST(ProbeCollector, MemoryIsBoundedForAnyTarget) {
  ProbeCollector collector(0, {.max_live_blocks = 10});
  for (std::uint64_t i = 1; i <= 100'000; ++i) collector.take(alloc(i, i, i * 16, 0, UINT64_MAX));
  EXPECT_EQ(collector.counters().not_followed, 99'990U);
  const auto slice = collector.slice(200'000, true);
  EXPECT_LE(slice->rows.size(), 1U << 16);
  EXPECT_GT(collector.counters().merged, 0U);
  EXPECT_LE(collector.summary(1).sites.size(), 1U << 16);
}

TEST(ProbeCollector, ThreadsAndStacksAreDistinguished) {
  ProbeCollector collector(0, {});
  collector.take(alloc(1, 1, 0x1000, 64, kInterval, 7));
  collector.take(alloc(2, 1, 0x2000, 64, kInterval, 8));
  collector.take(alloc(3, 0, 0x3000, 64, kInterval, 8));
  const auto slice = collector.slice(10, true);
  EXPECT_EQ(slice->new_sites, (std::vector<SiteKey>{{}, {1, 7, 0}, {1, 8, 0}, {0, 8, 0}}));
  EXPECT_EQ(collector.counters().unwalked, 1U);
}

TEST(ProbeCollector, SlicesFollowOneAnotherAndHoldWhatCameInThem) {
  ProbeCollector collector(0, {.slice_ns = 100});
  EXPECT_FALSE(collector.slice(99));
  collector.take(alloc(50, 1, 0x1000, 64));
  const auto first = collector.slice(120);
  ASSERT_TRUE(first);
  collector.take(freed(130, 0x1000));
  const auto second = collector.slice(220);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->start_ns, first->end_ns);
  EXPECT_EQ(second->rows.at(0).sums.allocated, Sum{});
  EXPECT_EQ(second->rows.at(0).sums.freed.bytes, kInterval);
  EXPECT_EQ(second->first_new_site, 2U);
  EXPECT_EQ(second->live, Sum{});
}

TEST(ProbeCollector, WhatAnotherProgramReplacesIsGone) {
  ProbeCollector collector(0, {});
  collector.take(alloc(1, 1, 0x1000, 64));
  EXPECT_EQ(collector.end_image(5).bytes, kInterval);
  EXPECT_EQ(collector.live(), Sum{});
  collector.take(freed(6, 0x1000));  // of the program that came then
  EXPECT_EQ(collector.live(), Sum{});
  EXPECT_EQ(collector.counters().unknown_frees, 1U);
}

}  // namespace
}  // namespace fathom::sources::heap
