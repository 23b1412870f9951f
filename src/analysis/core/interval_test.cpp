#include "analysis/core/interval.h"

#include <gtest/gtest.h>

namespace fathom::analysis {
namespace {

TEST(WilsonInterval, AgreesWithPublishedValues) {
  // 15 of 50: 0.1910 to 0.4375 (Wilson score without continuity correction).
  const Interval interval = wilson_interval(0.3, 50);
  EXPECT_NEAR(interval.low, 0.1910, 5e-5);
  EXPECT_NEAR(interval.high, 0.4375, 5e-5);
}

TEST(WilsonInterval, NeverLeavesZeroToOneAndHoldsTheShare) {
  for (const double samples : {0.0, 0.5, 1.0, 10.0, 1e9}) {
    for (const double share : {0.0, 1e-9, 0.5, 1.0, 1.5, -1.0}) {
      const Interval interval = wilson_interval(share, samples);
      EXPECT_GE(interval.low, 0);
      EXPECT_LE(interval.high, 1);
      EXPECT_LE(interval.low, interval.high);
      if (share >= 0 && share <= 1) {
        EXPECT_LE(interval.low, share);
        EXPECT_GE(interval.high, share);
      }
    }
  }
}

TEST(WilsonInterval, NoSampleMeansNothingIsKnown) {
  EXPECT_EQ(wilson_interval(0.5, 0).half_width(), 0.5);
}

TEST(WilsonInterval, FourTimesTheSamplesHalveTheError) {
  const double few = wilson_interval(0.2, 10'000).half_width();
  const double many = wilson_interval(0.2, 40'000).half_width();
  EXPECT_NEAR(few / many, 2, 0.01);
}

}  // namespace
}  // namespace fathom::analysis
