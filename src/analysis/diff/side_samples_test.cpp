#include "analysis/diff/side_samples.h"

#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

// Two stacks with 300 and 100 samples, as a table of a server or folded text has them: a row each.
struct Sums {
  HandMade hand;
  explicit Sums(std::int64_t value = 1) {
    const auto app = hand.module("app");
    const auto thread = hand.thread(hand.process(10, "app"), 10, "main");
    for (const auto& [name, times] : {std::pair("parse", 300), std::pair("write", 100)}) {
      hand.sample(thread, hand.stack({hand.frame(app, {name})}), 1);
      hand.profile.samples.back().value = times * value;
    }
  }
  DiffRun run() const {
    DiffRun run;
    run.profile = &hand.profile;
    return run;
  }
};

TEST(SideSamples, ARowOfSamplesStandsForAllThatItCounts) {
  EXPECT_EQ(samples_of(Sums().run(), model::Metric::kCpu, 2), 400u);
}

TEST(SideSamples, RowsOfTimesStandForTheSamplesThatTheFileHad) {
  Sums sums(1'000'000);
  sums.hand.profile.meta.facts["unit"] = "ns";
  sums.hand.profile.quality.samples = 400;
  EXPECT_EQ(samples_of(sums.run(), model::Metric::kCpu, 2), 400u);
}

TEST(SideSamples, OfOtherMetricsRowsAreCounted) {
  EXPECT_EQ(samples_of(Sums().run(), model::Metric::kOffCpu, 7), 7u);
}

}  // namespace
}  // namespace fathom::analysis
