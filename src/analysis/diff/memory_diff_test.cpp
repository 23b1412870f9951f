#include "analysis/diff/memory_diff.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/memory/hand_made_memory.h"
#include "analysis/memory/rss_breakdown.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

DiffRun memory_run(const model::Profile& profile) {
  DiffRun run;
  run.profile = &profile;
  return run;
}

const Change& part(const MemoryDiff& diff, std::string_view key) {
  for (const MemoryDiffPart& row : diff.parts) {
    if (row.key == key) return row.bytes;
  }
  static const Change none;
  ADD_FAILURE() << "no part " << key;
  return none;
}

TEST(MemoryDiff, AClassThatGrewIsFirstAndTheClassesAddUpToRss) {
  const HandMadeMemory before = memory_of_small_heap();
  HandMadeMemory after = memory_of_small_heap();
  after.range(2.9, model::MemoryKind::kMapped, "", 4000);
  const auto diff = make_memory_diff({memory_run(before.profile)}, {memory_run(after.profile)});
  ASSERT_TRUE(diff);
  EXPECT_EQ(diff->parts.front().key, "mapped");
  EXPECT_EQ(part(*diff, "mapped").base, 300 << 10);
  EXPECT_EQ(part(*diff, "mapped").change, 4000 << 10);
  EXPECT_TRUE(part(*diff, "mapped").beyond_noise);
  EXPECT_TRUE(diff->rss.beyond_noise);
  EXPECT_FALSE(part(*diff, "files").beyond_noise);
  double sum = 0;
  for (const MemoryDiffPart& row : diff->parts) sum += row.bytes.change;
  EXPECT_NEAR(sum, diff->rss.change, 1);
}

TEST(MemoryDiff, EqualRunsDifferByAFewPercent) {
  const HandMadeMemory before = memory_of_small_heap();
  HandMadeMemory after = memory_of_small_heap();
  after.range(2.9, model::MemoryKind::kMapped, "", 10);
  const auto diff = make_memory_diff({memory_run(before.profile)}, {memory_run(after.profile)});
  ASSERT_TRUE(diff);
  EXPECT_EQ(diff->own_spread, kRunToRunOfMemory);
  for (const MemoryDiffPart& row : diff->parts) EXPECT_FALSE(row.bytes.beyond_noise) << row.key;
}

// One side was recorded with --heap and the other without: all live blocks looked new, and the same amount of
// the allocators' other memory looked gone.
TEST(MemoryDiff, ATracedAndAnUntracedHeapAreComparedByTheirAllocatorsMemory) {
  const HandMadeMemory traced = memory_of_small_heap();
  model::Profile untraced = traced.profile;
  untraced.heap = {};
  for (model::MemoryRange& row : untraced.memory_ranges) {
    row.allocator = {};
    row.live_blocks = row.live_bytes = row.live_resident_bytes = row.live_resident_variance = 0;
    if (row.kind == model::MemoryKind::kMapped) row.kind = model::MemoryKind::kUnknown;
  }
  ASSERT_TRUE(make_rss_breakdown(traced.profile, {})->traced);
  ASSERT_FALSE(make_rss_breakdown(untraced, {})->traced);
  for (const bool turned : {false, true}) {
    const auto diff = turned ? make_memory_diff({memory_run(untraced)}, {memory_run(traced.profile)})
                             : make_memory_diff({memory_run(traced.profile)}, {memory_run(untraced)});
    ASSERT_TRUE(diff);
    EXPECT_FALSE(diff->traced);
    EXPECT_EQ(diff->rss.change, 0);
    for (const MemoryDiffPart& row : diff->parts) {
      EXPECT_NE(row.key, "live");
      EXPECT_EQ(row.bytes.change, 0) << row.key;
    }
    EXPECT_EQ(part(*diff, "slack").base, (1400 + 600) << 10);
  }
}

TEST(MemoryDiff, ThereIsNoComparisonIfOneSideHasNoMemoryReadings) {
  const HandMadeMemory before = memory_of_small_heap();
  model::Profile after = before.profile;
  after.memory_ranges.clear();
  EXPECT_FALSE(make_memory_diff({memory_run(before.profile)}, {memory_run(after)}));
  EXPECT_FALSE(make_memory_diff({memory_run(after)}, {memory_run(before.profile)}));
}

TEST(MemoryDiff, EveryFigureOfAnyProfilesIsANumberAndExchangingFlipsTheSign) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const model::Profile a = model::random_profile(seed), b = model::random_profile(seed + 500);
    const auto there = make_memory_diff({memory_run(a)}, {memory_run(b)}),
               back = make_memory_diff({memory_run(b)}, {memory_run(a)});
    ASSERT_EQ(there.has_value(), back.has_value());
    if (!there) continue;
    ++compared;
    EXPECT_EQ(there->rss.change, -back->rss.change);
    for (const MemoryDiffPart& row : there->parts) {
      EXPECT_TRUE(std::isfinite(row.bytes.change) && std::isfinite(row.bytes.error));
      EXPECT_EQ(row.bytes.change, -part(*back, row.key).change);
    }
    const auto same = make_memory_diff({memory_run(a)}, {memory_run(a)});
    for (const MemoryDiffPart& row : same->parts) EXPECT_EQ(row.bytes.change, 0);
  }
  EXPECT_GT(compared, 5);
}

}  // namespace
}  // namespace fathom::analysis
