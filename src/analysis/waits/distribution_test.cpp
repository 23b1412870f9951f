#include "analysis/waits/distribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace fathom::analysis {
namespace {

using testing::ElementsAre;

TEST(Distribution, HasExactQuantilesWithoutWeights) {
  Distribution waits;
  for (std::uint64_t ns = 100; ns >= 1; --ns) waits.add(ns, 1);
  EXPECT_EQ(waits.quantile_ns(0.5), 50u);
  EXPECT_EQ(waits.quantile_ns(0.99), 99u);
  EXPECT_EQ(waits.quantile_ns(1), 100u);
  EXPECT_EQ(waits.sum().max_ns(), 100u);
}

TEST(Distribution, CountsAWaitForAllThatItStandsFor) {
  Distribution waits;
  waits.add(1'000, 1);
  waits.add(10, 99);
  EXPECT_EQ(waits.quantile_ns(0.99), 10u);
  EXPECT_EQ(waits.quantile_ns(0.995), 1'000u);
  EXPECT_EQ(waits.sum().waits(), 100);
}

TEST(Distribution, HasBucketsOfPowersOfTwoWithoutGaps) {
  Distribution waits;
  waits.add(0, 1);
  waits.add(1, 1);
  waits.add(7, 2);
  using Bucket = Distribution::Bucket;
  EXPECT_THAT(waits.histogram(),
              ElementsAre(Bucket{1, 2}, Bucket{2, 0}, Bucket{4, 2, 1.959964 * std::sqrt(2)}));
  waits.add(UINT64_MAX, 1);
  EXPECT_EQ(waits.histogram().back().from_ns, std::uint64_t{1} << 63);
}

TEST(Distribution, TakesDaysAndWeightsOfMillionsInTheirOrder) {
  constexpr std::uint64_t kDay = 86'400'000'000'000;
  Distribution waits;
  waits.add(3 * kDay, 1);
  waits.add(1'000, 1);
  waits.add(500, 3'000'000);
  waits.add(2 * kDay, 1);
  waits.add(200, 1'000'000);
  EXPECT_EQ(waits.quantile_ns(0.2), 200u);
  EXPECT_EQ(waits.quantile_ns(0.5), 500u);
  EXPECT_EQ(waits.quantile_ns(4'000'001 / 4'000'003.0), 1'000u);
  EXPECT_EQ(waits.quantile_ns(4'000'002 / 4'000'003.0), 2 * kDay);
  EXPECT_EQ(waits.quantile_ns(1), 3 * kDay);
  double all = 0;
  for (const Distribution::Bucket& bucket : waits.histogram()) all += bucket.waits;
  EXPECT_EQ(all, 4'000'003);
}

TEST(Distribution, OfNothingIsEmpty) {
  const Distribution waits;
  EXPECT_EQ(waits.quantile_ns(0.5), 0u);
  EXPECT_TRUE(waits.histogram().empty());
}

}  // namespace
}  // namespace fathom::analysis
