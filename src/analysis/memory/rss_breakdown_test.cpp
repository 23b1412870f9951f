#include "analysis/memory/rss_breakdown.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/memory/hand_made_memory.h"
#include "model/free_before.h"
#include "model/random_profile.h"
#include "present/sentences/memory_sentences.h"

namespace fathom::analysis {
namespace {

using model::HeapMode;
using model::MemoryKind;
using testing::HasSubstr;
using testing::Not;

double part(const RssBreakdown& breakdown, std::string_view key) {
  for (const MemoryPart& part : breakdown.parts)
    if (part.key == key) return part.bytes.value / 1024;
  return 0;
}
std::string summary_of(const RssBreakdown& breakdown) {
  return fmt::format("{}", fmt::join(present::sentences_of(breakdown), "\n"));
}

TEST(RssBreakdown, IsNotThereWhereNothingIsKnown) {
  EXPECT_FALSE(make_rss_breakdown(small_heap().profile, {}));
}

TEST(RssBreakdown, LeadsFromRssToItsParts) {
  const auto breakdown = make_rss_breakdown(memory_of_small_heap().profile, {});
  ASSERT_TRUE(breakdown);
  EXPECT_EQ(breakdown->rss >> 10, 6176u);
  EXPECT_EQ(breakdown->anonymous >> 10, 2624u);
  EXPECT_EQ(part(*breakdown, "live"), 1000);
  EXPECT_EQ(part(*breakdown, "slack"), 1000);
  EXPECT_EQ(part(*breakdown, "mapped"), 300);
  EXPECT_EQ(part(*breakdown, "thread-stacks"), 80);
  EXPECT_EQ(part(*breakdown, "unknown"), 128);
  EXPECT_EQ(part(*breakdown, "tracer"), 16);
  EXPECT_EQ(part(*breakdown, "tracer-shared"), 48);
  EXPECT_EQ(part(*breakdown, "files"), 3300);
  EXPECT_EQ(breakdown->page_tables, 120 << 10);
  EXPECT_NEAR(breakdown->coverage, 1300.0 / 2624, 1e-9);
  EXPECT_EQ(breakdown->coverage_low, breakdown->coverage_high);
}

TEST(RssBreakdown, SaysHowMuchOfIt) {
  const std::string text = summary_of(*make_rss_breakdown(memory_of_small_heap().profile, {}));
  EXPECT_THAT(
      text,
      HasSubstr("The heap profile explains 1.3 MiB (49.5 %) of the 2.6 MiB of anonymous memory resident "));
  EXPECT_THAT(
      text,
      HasSubstr(
          " It includes blocks from before the recording, as does the unknown part: 300.0 KiB at most, because no more was resident at that time."));
  EXPECT_THAT(
      text,
      HasSubstr(
          " separate these. It includes blocks from before the recording, as does the unknown part: 300.0 KiB at most, because no more was resident at that time.\n319.5 KiB of the live blocks use no memory: their pages were never touched, or are swapped out."));
  EXPECT_THAT(text, HasSubstr("RSS at the end was 6.0 MiB: 2.6 MiB anonymous, 3.2 MiB of files, 248.0 KiB "
                              "shared; plus 120.0 KiB of page tables, 64.0 KiB swapped out."));
  EXPECT_THAT(text, HasSubstr("512.0 KiB of the anonymous memory is on huge pages"));
  EXPECT_THAT(text, Not(HasSubstr("shared out")));
}

TEST(RssBreakdown, KnowsWhatIsSharedAndWhatIsDirty) {
  const auto sharing = make_rss_breakdown(memory_of_small_heap().profile, {})->sharing;
  ASSERT_TRUE(sharing);
  EXPECT_EQ(sharing->private_clean, 300 << 10);
  EXPECT_EQ(sharing->private_dirty, 2624 << 10);
  EXPECT_EQ(sharing->shared_clean, 3052 << 10);
  EXPECT_EQ(sharing->shared_dirty, 200 << 10);
  EXPECT_EQ(sharing->proportional, 3424 << 10);
}
TEST(RssBreakdown, SharingIsUnknownWhereOnlyAPartOfItWasRead) {
  HandMadeMemory hand = memory_of_small_heap();
  hand.profile.series.pop_back();  // PSS
  EXPECT_FALSE(make_rss_breakdown(hand.profile, {})->sharing);
}
TEST(RssBreakdown, SharingThatWasReadLongAgoIsUnknown) {
  HandMadeMemory hand = memory_of_small_heap();
  model::Series& pss = hand.profile.series.back();
  pss.points = {{pss.points.back().time_ns - 11'000'000'000, 1}};
  EXPECT_FALSE(make_rss_breakdown(hand.profile, {})->sharing);
}
TEST(RssBreakdown, OfSamplesHasAnInterval) {
  const auto breakdown = make_rss_breakdown(memory_of_small_heap(HeapMode::kSampled).profile, {});
  EXPECT_NEAR(breakdown->explained.error(), 1.982e5, 100);
  EXPECT_NEAR(breakdown->coverage_low, (1300 - 193.6) / 2624, 1e-3);
  EXPECT_NEAR(breakdown->coverage_high, (1300 + 193.6) / 2624, 1e-3);
  EXPECT_THAT(summary_of(*breakdown), HasSubstr("explains 1.3 MiB ±193.6 KiB (50 %, 42 to 57 %)"));
}

// Unsampled blocks lie in mappings that seem to have no owner.
TEST(RssBreakdown, WhatIsEstimatedBeyondAllocatorsComesOutOfTheUnknown) {
  HandMadeMemory hand = memory_of_small_heap(HeapMode::kSampled);
  for (model::MemoryRange& row : hand.profile.memory_ranges)
    if (row.live_blocks == 1030) row.live_resident_bytes = 2000 << 10;
  const auto breakdown = make_rss_breakdown(hand.profile, {});
  EXPECT_EQ(part(*breakdown, "live"), 2050);
  EXPECT_EQ(part(*breakdown, "slack"), 0);
  EXPECT_EQ(part(*breakdown, "unknown"), 78);
  EXPECT_EQ(breakdown->overestimated, 0);
}

TEST(RssBreakdown, AnEstimateAboveTheResidentSetIsMarked) {
  HandMadeMemory hand = memory_of_small_heap(HeapMode::kSampled);
  for (model::MemoryRange& row : hand.profile.memory_ranges)
    if (row.live_blocks == 1030) row.live_resident_bytes = 3000 << 10;
  const auto breakdown = make_rss_breakdown(hand.profile, {});
  EXPECT_EQ(breakdown->overestimated, (3050 - 2128) << 10);
  EXPECT_EQ(part(*breakdown, "live"), 2128);
  EXPECT_EQ(part(*breakdown, "unknown"), 0);
  EXPECT_THAT(
      summary_of(*breakdown),
      HasSubstr(
          "The samples suggest 922.0 KiB more live blocks than their resident memory allows: the estimate is too high by at least that much."));
}

TEST(RssBreakdown, WhatWasFreeBeforeIsInNoEarlierBlock) {
  HandMadeMemory hand = memory_of_small_heap();
  EXPECT_EQ(make_rss_breakdown(hand.profile, {})->earlier_at_most, 300 << 10);
  model::put_free_before(hand.profile.processes[0].pid, {120 << 10, "glibc"}, hand.profile.meta.facts);
  EXPECT_EQ(make_rss_breakdown(hand.profile, {})->earlier_at_most, 180 << 10);
}

TEST(RssBreakdown, OfAProgramFromItsStartKnowsNoEarlierBlocks) {
  HandMadeMemory hand = memory_of_small_heap();
  hand.profile.heap.heaps[0].from_start = true;
  const auto breakdown = make_rss_breakdown(hand.profile, {});
  EXPECT_FALSE(breakdown->earlier_at_most);
  EXPECT_THAT(summary_of(*breakdown), Not(HasSubstr("before the recording")));
}

TEST(RssBreakdown, RoundedUpSizesAreReportedIfKnown) {
  HandMadeMemory hand = memory_of_small_heap();
  // The second site has 1000 blocks of 1,000 bytes: 1,024 each.
  hand.profile.heap.uses.push_back({{1}, 1'024'000, {}, {}});
  const auto breakdown = make_rss_breakdown(hand.profile, {});
  EXPECT_EQ(breakdown->rounding, 24'000);
  EXPECT_THAT(
      summary_of(*breakdown),
      HasSubstr(
          "Of the memory that allocators hold beyond live blocks, at most 23.4 KiB are rounding of sizes; the rest is freed memory that they keep, or their own tables."));
  Selection selection;
  selection.to_ns = 2'950'000'000;
  EXPECT_FALSE(make_rss_breakdown(hand.profile, selection)->rounding) << "known for the end only";
}

TEST(RssBreakdown, OfAProgramThatEndedIsOfItsLastMoment) {
  HandMadeMemory hand = memory_of_small_heap();
  hand.profile.processes[0].end_ns = hand.profile.meta.end_ns;
  EXPECT_THAT(summary_of(*make_rss_breakdown(hand.profile, {})),
              HasSubstr("resident 100 ms before the program ended"));
}

TEST(RssBreakdown, AtAnEarlierTimeIsTheOneBefore) {
  Selection selection;
  selection.to_ns = 2'000'000'000;
  const auto breakdown = make_rss_breakdown(memory_of_small_heap().profile, selection);
  ASSERT_TRUE(breakdown);
  EXPECT_EQ(breakdown->rss >> 10, 340u);
  EXPECT_NEAR(breakdown->at_s, 0.01, 1e-6);
}

TEST(RssBreakdown, OfUndividedMemoryIsMarked) {
  HandMadeMemory hand(small_heap());
  hand.range(2.9, MemoryKind::kNotSplit, "", 5000);
  hand.range(2.9, MemoryKind::kFile, "", 100);
  const auto breakdown = make_rss_breakdown(hand.profile, {});
  EXPECT_FALSE(breakdown->split);
  EXPECT_THAT(summary_of(*breakdown), HasSubstr("4.9 MiB that could not be separated"));
}

TEST(RssBreakdown, ThePartsAddUpToRssForAnyRows) {
  std::size_t seen = 0;
  model::for_each_profile(300, [&](const model::Profile& profile) {
    const auto breakdown = make_rss_breakdown(profile, {});
    if (!breakdown) return;
    ++seen;
    double parts = 0, anonymous = 0, ranges = 0;
    for (const MemoryPart& part : breakdown->parts) {
      EXPECT_GE(part.bytes.value, 0) << part.key;
      parts += part.bytes.value;
      if (part.anonymous) anonymous += part.bytes.value;
    }
    for (const MemoryRangeRow& row : breakdown->ranges) ranges += static_cast<double>(row.rss_bytes);
    const auto rss = static_cast<double>(breakdown->rss);
    EXPECT_NEAR(parts, rss, 1 + 1e-9 * rss);
    EXPECT_NEAR(ranges, rss, 1 + 1e-9 * rss);
    EXPECT_NEAR(anonymous, static_cast<double>(breakdown->anonymous), 1 + 1e-9 * rss);
    EXPECT_LE(breakdown->coverage_low, breakdown->coverage_high);
    EXPECT_LE(breakdown->coverage, 1);
  });
  EXPECT_GT(seen, 100u);
}

}  // namespace
}  // namespace fathom::analysis
