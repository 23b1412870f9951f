#include "tools/flight/growth_kind.h"

#include <gtest/gtest.h>

namespace fathom::flight {
namespace {

constexpr double kMiB = 1 << 20;

// 10 s in which the anonymous memory grew from 100 to 400 MiB.
GrowthFacts grown() {
  GrowthFacts facts;
  facts.window_s = 10;
  facts.anonymous = {300 * kMiB, 400 * kMiB};
  facts.file = {0, 20 * kMiB};
  facts.page_tables = {kMiB, 2 * kMiB};
  return facts;
}

TEST(GrowthKind, LiveBlocksThatAreNeverFreedAreALeak) {
  GrowthFacts facts = grown();
  facts.live = Change{298 * kMiB, 390 * kMiB};
  facts.freed_share = 0.0;
  facts.late_share = 1.02;
  const GrowthVerdict verdict = classify(facts);
  EXPECT_EQ(verdict.kind, GrowthKind::kLeak);
  EXPECT_EQ(verdict.sureness, Sureness::kHigh);
  EXPECT_NEAR(verdict.explained, 0.99, 0.01);
  facts.freed_share = 0.15;
  EXPECT_EQ(classify(facts).sureness, Sureness::kMedium) << "some are freed";
  facts.freed_share = 0.0;
  facts.live_error = 150 * kMiB;
  EXPECT_EQ(classify(facts).sureness, Sureness::kMedium) << "how many are live is hardly known";
}

TEST(GrowthKind, OnlyGrowthThatSlowsDownIsACacheThatFills) {
  GrowthFacts facts = grown();
  facts.live = Change{298 * kMiB, 390 * kMiB};
  facts.freed_share = 0.5;
  facts.late_share = 0.3;
  EXPECT_EQ(classify(facts).kind, GrowthKind::kFilling);
  EXPECT_EQ(classify(facts).sureness, Sureness::kHigh);
  facts.freed_share = 0.0;
  EXPECT_EQ(classify(facts).kind, GrowthKind::kFilling) << "it slows down";
  EXPECT_EQ(classify(facts).sureness, Sureness::kMedium);
}

// A queue that fills, a vector that is copied into a larger one, a leak among passing blocks: steady or ever faster.
TEST(GrowthKind, SteadyGrowthIsNoCacheHoweverManyBlocksAreFreed) {
  for (const double late : {0.7, 1.0, 1.9})
    for (const double freed : {0.1, 0.5, 0.98}) {
      GrowthFacts facts = grown();
      facts.live = Change{298 * kMiB, 390 * kMiB};
      facts.late_share = late;
      facts.freed_share = freed;
      EXPECT_EQ(classify(facts).kind, GrowthKind::kGrowing) << late << " " << freed;
      EXPECT_EQ(headroom_of(facts, classify(facts), 410 * kMiB, 30 * kMiB).kind, HeadroomKind::kNoneHelps);
    }
}

TEST(GrowthKind, GrowthOutsideTheLiveBlocksIsTheAllocatorsOrTheProgramsOwn) {
  GrowthFacts facts = grown();
  facts.live = Change{10 * kMiB, 60 * kMiB};
  EXPECT_EQ(classify(facts).kind, GrowthKind::kAnonymous) << "nothing says whose it is";
  EXPECT_EQ(classify(facts).sureness, Sureness::kLow);
  facts.slack = Change{280 * kMiB, 300 * kMiB};
  EXPECT_EQ(classify(facts).kind, GrowthKind::kRetained);
  facts.huge = Change{290 * kMiB, 300 * kMiB};
  EXPECT_EQ(classify(facts).kind, GrowthKind::kHugePages);
  facts.huge = std::nullopt;
  facts.slack = Change{5 * kMiB, 9 * kMiB};
  facts.mapped = Change{280 * kMiB, 280 * kMiB};
  EXPECT_EQ(classify(facts).kind, GrowthKind::kMapped);
}

TEST(GrowthKind, TheLargestGrowthOutsideAnonymousMemoryIsNamed) {
  GrowthFacts facts = grown();
  facts.anonymous = {0, 100 * kMiB};
  facts.page_tables = {900 * kMiB, 1000 * kMiB};
  EXPECT_EQ(classify(facts).kind, GrowthKind::kPageTables);
  EXPECT_EQ(classify(facts).sureness, Sureness::kHigh);
  facts.page_tables = {};
  facts.page_cache = Change{500 * kMiB, 600 * kMiB};
  EXPECT_EQ(classify(facts).kind, GrowthKind::kPageCache);
  facts.file = {900 * kMiB, 1000 * kMiB};
  facts.major_faults_per_s = 2000;
  EXPECT_EQ(classify(facts).kind, GrowthKind::kMappedDatabase);
  facts.file = {};
  facts.page_cache = std::nullopt;
  facts.shared = {700 * kMiB, 700 * kMiB};
  EXPECT_EQ(classify(facts).kind, GrowthKind::kShared);
}

TEST(GrowthKind, LittleGrowthIsNone) {
  GrowthFacts facts = grown();
  facts.anonymous.grew = 3 * kMiB;
  EXPECT_EQ(classify(facts).kind, GrowthKind::kNone);
  EXPECT_EQ(classify(GrowthFacts{}).kind, GrowthKind::kNone);
  EXPECT_EQ(classify(GrowthFacts{}).sureness, Sureness::kLow);
}

TEST(GrowthKind, HalfASecondMakesNothingSure) {
  GrowthFacts facts = grown();
  facts.live = Change{298 * kMiB, 390 * kMiB};
  facts.window_s = 0.4;
  EXPECT_EQ(classify(facts).kind, GrowthKind::kLeak);
  EXPECT_EQ(classify(facts).sureness, Sureness::kLow);
}

TEST(Headroom, NoLimitHelpsALeak) {
  GrowthFacts facts = grown();
  facts.live = Change{298 * kMiB, 390 * kMiB};
  const Headroom headroom = headroom_of(facts, classify(facts), 410 * kMiB, 30 * kMiB);
  EXPECT_EQ(headroom.kind, HeadroomKind::kNoneHelps);
  EXPECT_NEAR(headroom.seconds_at_twice, 410.0 / 30, 0.01);
  EXPECT_EQ(headroom.needed, 402 * kMiB);
}

TEST(Headroom, WhereGrowthThatSlowsDownStopsIsNotKnown) {
  GrowthFacts facts = grown();
  facts.anonymous = {175 * kMiB, 275 * kMiB};
  facts.page_tables = {};
  facts.live = Change{175 * kMiB, 270 * kMiB};
  facts.late_share = 25 / (175 / 3.0);
  facts.freed_share = 0.5;
  const Headroom headroom = headroom_of(facts, classify(facts), 280 * kMiB, 10 * kMiB);
  EXPECT_EQ(headroom.kind, HeadroomKind::kLevelsOff);
  EXPECT_EQ(headroom.needed, 275 * kMiB);
}

TEST(Headroom, PagesOfFilesGiveWayBeforeAnybodyIsKilled) {
  GrowthFacts facts = grown();
  facts.anonymous = {0, 100 * kMiB};
  facts.page_cache = Change{500 * kMiB, 600 * kMiB};
  const Headroom headroom = headroom_of(facts, classify(facts), 700 * kMiB, 0);
  EXPECT_EQ(headroom.kind, HeadroomKind::kGivesWay);
  EXPECT_EQ(headroom.needed, 102 * kMiB);
}

TEST(Headroom, OfNothingIsNotKnown) {
  EXPECT_EQ(headroom_of({}, {}, 0, 0).kind, HeadroomKind::kNotKnown);
}

}  // namespace
}  // namespace fathom::flight
