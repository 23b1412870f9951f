#include "record/heap/collector.h"

#include <gtest/gtest.h>

#include <cmath>

#include "record/heap/testing_recording.h"

namespace fathom::sources::heap {
namespace {

TEST(Collector, BlocksBelongToTheirSiteUntilTheyAreFreed) {
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  tracer.alloc(0, 4 * kMs, 0x2000, 50, 2);
  tracer.free(1, 9 * kMs, 0x1000);  // by another thread
  recording.drain(10 * kMs);
  const Slice slice = recording.slice();
  EXPECT_EQ(slice.live, (Sum{1, 50}));
  ASSERT_EQ(slice.rows.size(), 2u);
  EXPECT_EQ(slice.rows[0].sums.allocated, (Sum{1, 100}));
  EXPECT_EQ(slice.rows[0].sums.freed, (Sum{1, 100}));
  EXPECT_EQ(slice.rows[1].sums.freed, Sum{});
  EXPECT_EQ(recording.sites[slice.rows[0].site], (SiteKey{1, 100, 0}));
}

TEST(Collector, ABlockBeyondTheLimitIsNeverLive) {
  CollectorOptions options;
  options.max_live_blocks = 1;
  Recording recording(options);
  recording.tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  recording.tracer.alloc(0, 4 * kMs, 0x2000, 50, 2);
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.collector.counters().not_followed, 1u);
  const Slice slice = recording.slice();
  EXPECT_EQ(slice.live, (Sum{1, 100}));
  ASSERT_EQ(slice.rows.size(), 2u);
  EXPECT_EQ(slice.rows[1].sums.allocated, (Sum{1, 50}));
  EXPECT_EQ(slice.rows[1].sums.freed, (Sum{1, 50}));
}

TEST(Collector, StackIsDeliveredOnceHoweverManyNumbersItHas) {
  Recording recording;
  recording.tracer.stack(1, 3 * kMs, 3, {0x10, 0x100});  // the content of number 1
  recording.tracer.stack(1, 3 * kMs, 4, {0x30, 0x100}, WALK_NO_RULE);
  recording.tracer.alloc(1, 4 * kMs, 0x1000, 10, 3);
  recording.tracer.alloc(1, 4 * kMs, 0x2000, 10, 4);
  const Round round = recording.drain(5 * kMs);
  ASSERT_EQ(round.stacks.size(), 1u);
  EXPECT_EQ(round.stacks[0].stack, 3u);
  EXPECT_EQ(round.stacks[0].addresses, (std::vector<std::uint64_t>{0x30, 0x100}));
  EXPECT_EQ(recording.slice().new_sites.size(), 3u);
  EXPECT_EQ(recording.sites[1], (SiteKey{1, 101, 0}));
  EXPECT_EQ(recording.collector.counters().incomplete, 1u);
}

// With five levels of page tables user addresses have 56 bits; the allocator's number stands above them.
TEST(Collector, BlocksMayLieAboveFourLevelsOfPageTables) {
  Recording recording;
  const std::uint64_t high = TRACER_BLOCK(0x00ff'ffff'ffff'f000, 3),
                      low = TRACER_BLOCK(0x0000'ffff'ffff'f000, 3);
  recording.tracer.alloc(0, 3 * kMs, high, 100, 1);
  recording.tracer.alloc(0, 4 * kMs, low, 10, 2);
  recording.tracer.free(0, 5 * kMs, low);
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.collector.live(), (Sum{1, 100}));
  EXPECT_EQ(TRACER_BLOCK_ADDRESS(high), 0x00ff'ffff'ffff'f000u);
  EXPECT_EQ(recording.collector.counters().unknown_frees, 0u);
}

TEST(Collector, SameAddressesUnderOtherMappingsAreAnotherStack) {
  Recording recording;
  recording.tracer.shared().table_epoch = 1;
  recording.tracer.stack(1, 3 * kMs, 3, {0x10, 0x100});
  EXPECT_EQ(recording.drain(5 * kMs).stacks.size(), 1u);
}

TEST(Collector, OlderFreeOfAnotherThreadDoesNotKillTheNewBlock) {
  // Thread 0 moves a block from 0x1000 by realloc. While it is inside, thread 1 is handed 0x1000, and writes
  // that first.
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  tracer.realloc(0, 8 * kMs, 0x1000, 5 * kMs, 0x2000, 300, 1);
  tracer.alloc(1, 7 * kMs, 0x1000, 40, 2);
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.collector.live(), (Sum{2, 340}));
  EXPECT_EQ(recording.collector.counters().unseen_frees, 0u);
  EXPECT_EQ(recording.collector.counters().late_frees, 1u);
}

TEST(Collector, AddressThatIsHandedOutAgainWasFreedUnseen) {
  Recording recording;
  recording.tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  recording.tracer.alloc(0, 5 * kMs, 0x1000, 40, 2);
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.collector.live(), (Sum{1, 40}));
  EXPECT_EQ(recording.collector.counters().unseen_frees, 1u);
}

TEST(Collector, FreeOfABlockFromBeforeTheAttachIsCountedAndChangesNothing) {
  Recording recording;
  recording.tracer.free(0, 3 * kMs, 0x1000);
  recording.tracer.realloc(0, 5 * kMs, 0x5000, 4 * kMs, 0x6000, 10, 1);
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.collector.live(), (Sum{1, 10}));
  EXPECT_EQ(recording.collector.counters().unknown_frees, 2u);
}

TEST(Collector, ReallocToNothingFreesAndReallocOfNothingAllocates) {
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.realloc(0, 3 * kMs, 0, 3 * kMs, 0x1000, 10, 1);
  recording.drain(4 * kMs);
  EXPECT_EQ(recording.collector.live(), (Sum{1, 10}));
  tracer.realloc(0, 6 * kMs, 0x1000, 5 * kMs, 0, 0, 1);
  recording.drain(7 * kMs);
  EXPECT_EQ(recording.collector.live(), Sum{});
}

TEST(Collector, BlockThatGrowsInPlaceIsAllocatedWhereItGrew) {
  Recording recording;
  recording.tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  recording.tracer.alloc(0, 4 * kMs, 0x1000, 150, 2, TRACER_EVENT_RESIZE);
  recording.drain(10 * kMs);
  const Slice slice = recording.slice();
  EXPECT_EQ(slice.live, (Sum{1, 150}));
  EXPECT_EQ(recording.allocated(slice, 2), (Sum{1, 150}));
  EXPECT_EQ(recording.collector.counters().unseen_frees, 0u);
}

TEST(Collector, SameAddressOfTwoAllocatorsAreTwoBlocks) {
  Recording recording;
  recording.tracer.alloc(0, 3 * kMs, TRACER_BLOCK(0x1000, 0), 100, 1);
  recording.tracer.alloc(0, 4 * kMs, TRACER_BLOCK(0x1000, 1), 50, 1);
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.collector.live(), (Sum{2, 150}));
  recording.slice();
  EXPECT_EQ(recording.sites.size(), 3u);  // site 0 and one per allocator
}

TEST(Collector, TemporaryIsWhatItsThreadFreesBeforeItAllocatesAgain) {
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);  // temporary, though thread 1 allocates meanwhile
  tracer.alloc(1, 4 * kMs, 0x2000, 10, 2);
  tracer.free(0, 5 * kMs, 0x1000);
  tracer.alloc(0, 6 * kMs, 0x3000, 100, 1);  // not: another one comes in between
  tracer.alloc(0, 7 * kMs, 0x4000, 100, 1);
  tracer.free(0, 8 * kMs, 0x3000);
  tracer.free(0, 9 * kMs, 0x2000);  // not: another thread's
  recording.drain(10 * kMs);
  const Slice slice = recording.slice();
  EXPECT_EQ(slice.rows[0].sums.temporary, (Sum{1, 100}));
  EXPECT_EQ(slice.rows[1].sums.temporary, Sum{});
}

TEST(Collector, ShortLivedIsWhatLivesLessThanAMillisecond) {
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 7, 1);
  tracer.free(0, 4 * kMs - 1, 0x1000);
  tracer.alloc(0, 5 * kMs, 0x1000, 9, 1);
  tracer.free(0, 6 * kMs, 0x1000);
  recording.drain(10 * kMs);
  const Slice slice = recording.slice();
  EXPECT_EQ(slice.rows[0].sums.short_lived, (Sum{1, 7}));
  const SiteSummary summary = recording.summary(1);
  ASSERT_EQ(summary.lifetimes_ns.size(), 1u);  // both of 2^19 ns up to 2^20
  EXPECT_EQ(summary.lifetimes_ns[0].bucket, 20);
  EXPECT_EQ(summary.longest_ns, kMs);
  ASSERT_EQ(summary.sizes.size(), 2u);
  EXPECT_EQ(summary.sizes[0].bucket, 3);  // 7: 4 up to 8
  EXPECT_EQ(summary.sizes[1].bucket, 4);
}

TEST(Collector, PeakIsExactBetweenTwoSlicesAndSaysOfWhatItWas) {
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  tracer.alloc(0, 4 * kMs, 0x2000, 1000, 2);  // the peak: 1100
  tracer.free(0, 5 * kMs, 0x2000);
  tracer.alloc(0, 6 * kMs, 0x3000, 500, 1);
  recording.drain(10 * kMs);
  const Slice slice = recording.slice();
  EXPECT_EQ(slice.peak_bytes, 1100);
  EXPECT_NEAR(static_cast<double>(slice.peak_ns), static_cast<double>(FakeTracer::kBase + 4 * kMs), 2);
  EXPECT_EQ(slice.live, (Sum{2, 600}));
  EXPECT_EQ(recording.summary(1).peak, (Sum{1, 100}));
  EXPECT_EQ(recording.summary(2).peak, (Sum{1, 1000}));
  EXPECT_EQ(recording.collector.summary().peak, (Sum{2, 1100}));
}

TEST(Collector, PeakHoldsWhatAnotherThreadAllocatesDuringAShortLife) {
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  tracer.alloc(1, 3 * kMs + 5, 0x2000, 50, 2);
  tracer.free(0, 3 * kMs + 9, 0x1000);
  tracer.alloc(0, 4 * kMs, 0x1000, 120, 1);  // alone, next to 50
  tracer.free(0, 4 * kMs + 9, 0x1000);
  recording.drain(5 * kMs);
  const Slice slice = recording.slice();
  EXPECT_EQ(slice.peak_bytes, 170);
  EXPECT_EQ(slice.peak_ns, FakeTracer::kBase + 4 * kMs);
  EXPECT_EQ(recording.summary(1).peak, (Sum{1, 120}));
  EXPECT_EQ(recording.summary(2).peak, (Sum{1, 50}));
}

TEST(Collector, SampleStandsForAsManyBlocksAsItsSizeWasUnlikely) {
  Recording recording;
  recording.tracer.sample(0, 3 * kMs, 0x1000, 512, 1, 4096);
  recording.drain(10 * kMs);
  const double seen = 1 - std::exp(-512.0 / 4096);
  const Slice slice = recording.slice();
  EXPECT_DOUBLE_EQ(slice.live.blocks, 1 / seen);
  EXPECT_DOUBLE_EQ(slice.live.bytes, 512 / seen);
  ASSERT_EQ(slice.rows.size(), 1u);
  EXPECT_NEAR(slice.rows[0].allocated_variance.bytes, (1 - seen) / (seen * seen) * 512 * 512, 1);
  recording.tracer.free(0, 12 * kMs, 0x1000);
  recording.drain(20 * kMs);
  EXPECT_EQ(recording.slice().rows[0].freed_variance, slice.rows[0].allocated_variance);
  EXPECT_NEAR(recording.collector.live().bytes, 0, 1e-9);
}

TEST(Collector, SlicesFollowEachOtherAndGetLonger) {
  CollectorOptions options;
  options.first_slice_ns = 10 * kMs;
  options.slices_per_length = 2;
  Recording recording(options);
  std::vector<std::uint64_t> lengths;
  std::uint64_t end = FakeTracer::kBase;
  for (std::uint64_t time = 5; time <= 100; time += 5) {
    recording.drain(time * kMs);
    const auto slice = recording.collector.slice();
    if (!slice) continue;
    EXPECT_EQ(slice->start_ns, end);
    end = slice->end_ns;
    lengths.push_back((slice->end_ns - slice->start_ns) / kMs);
  }
  EXPECT_EQ(lengths, (std::vector<std::uint64_t>{10, 10, 20, 20, 40}));
}

TEST(Collector, SlicesOfManySitesGetLongerSoonerAsLongAsTheyAreShort) {
  CollectorOptions options;
  options.first_slice_ns = 250 * kMs;
  options.rows_per_length = 8;  // 2 below a second
  Recording recording(options);
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t time = 250; time <= 10'000; time += 250) {
    recording.tracer.alloc(0, time * kMs, 0x1000 + 16 * time, 8);
    recording.drain(time * kMs);
    if (const auto slice = recording.collector.slice())
      lengths.push_back((slice->end_ns - slice->start_ns) / kMs);
  }
  EXPECT_EQ(lengths,
            (std::vector<std::uint64_t>{250, 250, 500, 500, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}));
}

TEST(Collector, BeyondTheMostSitesAllIsStillCounted) {
  CollectorOptions options;
  options.max_sites = 32;
  Recording recording(options);
  for (std::uint32_t i = 0; i < 100; ++i) {
    recording.tracer.stack(0, 3 * kMs, 10 + i, {0x1000 + i, 0x100});
    recording.tracer.alloc(0, 3 * kMs, 0x10000 + i * 16, 10, 10 + i);
  }
  recording.drain(10 * kMs);
  const Slice slice = recording.slice();
  Sum sum;
  for (const SliceRow& row : slice.rows) sum.add(row.sums.allocated);
  EXPECT_EQ(sum, (Sum{100, 1000}));
  EXPECT_LE(recording.sites.size(), 32u);
  EXPECT_GT(recording.collector.counters().merged, 60u);
}

TEST(Collector, TimeInWhichTheTracerHeardNothingIsAnOutageFromItsPauseToItsFirstEvent) {
  Recording recording;
  tracer_shared& shared = recording.tracer.shared();
  shared.off_ticks = 4 * kMs;
  shared.switched_off = TRACER_PAUSED;
  recording.drain(10 * kMs);
  EXPECT_EQ(shared.switched_off, TRACER_HEARD) << "it may begin again";
  EXPECT_TRUE(recording.collector.counters().switched_off);
  recording.drain(20 * kMs);
  ASSERT_EQ(recording.collector.outages().size(), 1u);
  EXPECT_EQ(recording.collector.outages()[0].start_ns, FakeTracer::kBase + 4 * kMs);
  EXPECT_EQ(recording.collector.outages()[0].end_ns, FakeTracer::kBase + 20 * kMs) << "until now";

  shared.resumed_ticks = 25 * kMs;
  recording.drain(30 * kMs);
  recording.drain(40 * kMs);
  ASSERT_EQ(recording.collector.outages().size(), 1u);
  EXPECT_EQ(recording.collector.outages()[0].end_ns, FakeTracer::kBase + 25 * kMs);
  EXPECT_FALSE(recording.collector.counters().switched_off);

  shared.off_ticks = 45 * kMs;
  shared.switched_off = TRACER_PAUSED;
  recording.drain(50 * kMs);
  EXPECT_EQ(recording.collector.outages().size(), 2u);
}

TEST(Collector, TimesOfAnOutageAreBelievedAsFarAsTheyCanBeTrue) {
  Recording recording;
  tracer_shared& shared = recording.tracer.shared();
  shared.off_ticks = ~0ull;
  shared.switched_off = TRACER_PAUSED;
  recording.drain(10 * kMs);
  shared.resumed_ticks = 1;
  recording.drain(20 * kMs);
  shared.switched_off = TRACER_GONE;
  shared.off_ticks = 0;
  recording.drain(30 * kMs);
  const auto outages = recording.collector.outages();
  ASSERT_EQ(outages.size(), 2u);
  EXPECT_EQ(outages[0].start_ns, FakeTracer::kBase + 10 * kMs);
  EXPECT_EQ(outages[0].end_ns, outages[0].start_ns);
  EXPECT_GE(outages[1].start_ns, outages[0].end_ns);
  EXPECT_EQ(shared.switched_off, TRACER_GONE) << "that is for good";
}

TEST(Collector, WhatIsLiveGoesWithTheImageOfItsProgram) {
  Recording recording;
  recording.tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  recording.tracer.alloc(0, 4 * kMs, 0x2000, 30, 2);
  recording.tracer.free(0, 5 * kMs, 0x1000);
  recording.tracer.alloc(0, 6 * kMs, 0x3000, 7, 1);
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.collector.end_image(), (Sum{2, 37}));
  EXPECT_EQ(recording.collector.live(), (Sum{0, 0}));
  EXPECT_EQ(recording.collector.live_blocks_followed(), 0u);
  const Slice slice = recording.slice();
  Sum freed;
  for (const SliceRow& row : slice.rows) freed.add(row.sums.freed);
  EXPECT_EQ(freed, (Sum{3, 137}));
}

TEST(Collector, SaysByTheHeartbeatThatItReads) {
  Recording recording;
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.tracer.shared().heartbeat, 10 * kMs);
}

// A process of 1 MiB.
CollectorOptions small_process() {
  CollectorOptions options;
  options.bounds = [] { return ProcessBounds{1 << 20, 1 << 20}; };
  return options;
}

TEST(Collector, ABlockThatTheProcessCannotHaveIsDropped) {
  Recording recording(small_process());
  recording.tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  recording.tracer.alloc(0, 4 * kMs, 0x2000, std::uint64_t{1} << 40, 1);
  recording.tracer.free(0, 5 * kMs, 0x2000);
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.collector.live(), (Sum{1, 100}));
  EXPECT_EQ(recording.collector.counters().impossible, 1u);
  EXPECT_EQ(recording.collector.counters().allocations, 1u);
  EXPECT_EQ(recording.collector.counters().unknown_frees, 1u);
}

TEST(Collector, NoMoreIsLiveThanTheAddressSpaceHolds) {
  Recording recording(small_process());
  for (std::uint64_t i = 0; i < 20; ++i)
    recording.tracer.alloc(0, 3 * kMs + i, 0x100000 * (i + 1), 100 << 10, 1);
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.collector.live(), (Sum{10, 10 * (100 << 10)}));
  EXPECT_EQ(recording.collector.counters().impossible, 10u);
}

TEST(Collector, AProcessThatGrowsIsAskedAboutAgain) {
  std::uint64_t space = 1 << 20;
  CollectorOptions options;
  options.bounds = [&] { return ProcessBounds{space, space}; };
  Recording recording(options);
  recording.tracer.alloc(0, 3 * kMs, 0x1000, 1 << 20, 1);
  recording.drain(10 * kMs);
  space = 4 << 20;
  recording.tracer.alloc(0, 13 * kMs, 0x200000, 2 << 20, 1);
  recording.drain(20 * kMs);
  EXPECT_EQ(recording.collector.live(), (Sum{2, 3 << 20}));
  EXPECT_EQ(recording.collector.counters().impossible, 0u);
}

TEST(Collector, ASampleIsBelievedWithAMeanThatWasOrderedOnly) {
  Recording recording(small_process());
  recording.collector.order_mean(4096);
  recording.tracer.sample(0, 3 * kMs, 0x1000, 4096, 1, 4096);
  recording.tracer.sample(0, 4 * kMs, 0x3000, 1, 1,
                          0x7fffffff);  // would stand for two thousand million blocks
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.collector.counters().impossible, 1u);
  EXPECT_LT(recording.collector.live().blocks, 2);
}

TEST(Collector, StacksAndThreadsBeyondTheBudgetOfARoundAreNotDelivered) {
  Recording recording;
  for (std::uint32_t i = 0; i < 10; ++i) recording.tracer.stack(0, 3 * kMs, 10 + i, {i, 0x100, 0x200});
  for (std::uint32_t i = 0; i < 10; ++i) recording.tracer.thread(0, 4 * kMs, 1000 + i);
  recording.tracer.alloc(0, 5 * kMs, 0x1000, 10, 19);
  const Round round =
      recording.collector.drain(Recording::at(10 * kMs), {.events = {}, .stack_words = 7, .threads = 3});
  EXPECT_EQ(round.stacks.size(), 2u);
  EXPECT_EQ(round.threads.size(), 3u);
  EXPECT_EQ(recording.collector.counters().merged, 8u);
  EXPECT_EQ(recording.collector.counters().unwalked, 1u);
}

TEST(Collector, WhatLiesInTheRingsAtTheEndIsCountedAsLost) {
  Recording recording;
  for (std::uint64_t i = 0; i < 100; ++i) recording.tracer.free(0, 20 * kMs + i, 0x10);
  recording.drain(10 * kMs);
  recording.collector.end();
  EXPECT_NEAR(static_cast<double>(recording.collector.counters().lost_at_end), 100, 70);
}

}  // namespace
}  // namespace fathom::sources::heap
