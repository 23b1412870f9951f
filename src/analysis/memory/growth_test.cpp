#include "analysis/memory/growth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace fathom::analysis {
namespace {

template <class Value>
std::vector<TimedValue> points(std::size_t count, Value value) {
  std::vector<TimedValue> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back({static_cast<double>(i), value(static_cast<double>(i))});
  return all;
}

TEST(Growth, OfALineIsItsSlopeAndCertain) {
  const auto slope = slope_of(points(60, [](double t) { return 100 + 3 * t; }));
  ASSERT_TRUE(slope);
  EXPECT_NEAR(slope->per_second, 3, 1e-9);
  EXPECT_NEAR(slope->low, 3, 1e-9);
  EXPECT_NEAR(slope->high, 3, 1e-9);
  EXPECT_TRUE(slope->grows());
  const auto left = time_left(*slope, 300);
  ASSERT_TRUE(left);
  EXPECT_NEAR(left->seconds, 100, 1e-6);
}

TEST(Growth, AStepOrASawtoothIsNoGrowth) {
  const auto step = slope_of(points(60, [](double t) { return t < 20 ? 100.0 : 200.0; }));
  ASSERT_TRUE(step);
  EXPECT_GT(step->per_second, 0);
  EXPECT_FALSE(step->grows());
  EXPECT_FALSE(time_left(*step, 1000));
  EXPECT_FALSE(slope_of(points(61, [](double t) { return std::fmod(t, 13) * 10; }))->grows());
  const auto level = slope_of(points(10, [](double) { return 5.0; }));
  EXPECT_FALSE(level->grows() || level->shrinks());
}

TEST(Growth, AUnevenRiseHasAnIntervalThatHoldsTheTruth) {
  const auto slope = slope_of(points(100, [](double t) { return 2 * t + 10 * std::sin(t * 1.7); }));
  ASSERT_TRUE(slope);
  EXPECT_TRUE(slope->grows());
  EXPECT_LT(slope->low, 2);
  EXPECT_GT(slope->high, 2);
  const auto left = time_left(*slope, 100);
  EXPECT_LT(left->least, left->seconds);
  EXPECT_GT(left->most, left->seconds);
}

TEST(Growth, OfTooFewPointsIsNotReported) {
  EXPECT_FALSE(slope_of({}));
  EXPECT_FALSE(slope_of(points(3, [](double t) { return t; })));
  EXPECT_FALSE(slope_of(std::vector<TimedValue>(10)));
}

TEST(Growth, NothingLeftIsNow) {
  EXPECT_EQ(time_left({1, 0.5, 2}, -5)->seconds, 0);
}

}  // namespace
}  // namespace fathom::analysis
