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

TEST(PoissonInterval, AgreesWithPublishedValues) {
  EXPECT_NEAR(poisson_interval(1, 1).low, 0.0253, 1e-4);
  EXPECT_NEAR(poisson_interval(1, 1).high, 5.572, 1e-3);
  EXPECT_NEAR(poisson_interval(5, 5).low, 1.623, 1e-3);
  EXPECT_NEAR(poisson_interval(5, 5).high, 11.668, 1e-3);
}

// One sample that stands for 512 KiB says that it is no less than a fortieth of that.
TEST(PoissonInterval, GrowsWithTheWeightOfASample) {
  const AmountInterval interval = poisson_interval(512 * 1024, 1);
  EXPECT_NEAR(interval.low, 0.0253 * 512 * 1024, 100);
  EXPECT_NEAR(interval.high, 5.572 * 512 * 1024, 1000);
}

TEST(PoissonInterval, HoldsTheAmountForAnySamples) {
  for (const double samples : {-1.0, 0.0, 0.3, 1.0, 17.5, 1e6, 1e300}) {
    const AmountInterval interval = poisson_interval(1000, samples);
    EXPECT_GT(interval.low, 0) << samples;
    EXPECT_LE(interval.low, 1000) << samples;
    EXPECT_GE(interval.high, 1000 * (1 - 1e-9)) << samples;
  }
  EXPECT_EQ(poisson_interval(0, 3).high, 0);
}

}  // namespace
}  // namespace fathom::analysis
