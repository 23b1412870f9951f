#include "analysis/heap/heap_trend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace fathom::analysis {
namespace {

// Noise whose neighbours are correlated by `memory`, of standard deviation 1.
std::vector<double> noise(std::size_t count, double memory, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  double value = normal(engine);
  for (double& out : values) {
    out = value;
    value = memory * value + std::sqrt(1 - memory * memory) * normal(engine);
  }
  return values;
}

std::vector<TrendPoint> series(const std::vector<double>& values, double step_s = 1) {
  std::vector<TrendPoint> points;
  for (std::size_t i = 0; i < values.size(); ++i)
    points.push_back({step_s * static_cast<double>(i + 1), values[i], 0});
  return points;
}
std::vector<TrendPoint> drawn(std::size_t count, const std::function<double(double)>& value) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(value(static_cast<double>(i + 1)));
  return series(values);
}

TEST(HeapTrend, QuantilesAreThoseOfTheTable) {
  EXPECT_NEAR(t_quantile(0.025, 1), 12.706, 0.02);
  EXPECT_NEAR(t_quantile(0.025, 2), 4.303, 0.005);
  EXPECT_NEAR(t_quantile(0.0005, 3), 12.924, 0.05);
  EXPECT_NEAR(t_quantile(0.025, 10), 2.228, 0.002);
  EXPECT_NEAR(t_quantile(0.005, 30), 2.750, 0.002);
  EXPECT_NEAR(t_quantile(0.025, 1e4), 1.960, 0.002);
}

// Noise that correlates with itself over half of the series cannot be separated from growth.
bool memory_is_too_long(std::size_t count, double memory) {
  return 2 * (1 + memory) / (1 - memory) > static_cast<double>(count);
}

TEST(HeapTrend, NoiseIsNotCalledGrowthMoreOftenThanStated) {
  for (const std::size_t count : {16, 40, 120}) {
    for (const double memory : {0.0, 0.5, 0.8, 0.95}) {
      if (memory_is_too_long(count, memory)) continue;
      int growing = 0, falling = 0;
      for (unsigned run = 0; run < 500; ++run) {
        std::vector<double> values = noise(count, memory, run * 7 + 1);
        for (double& value : values) value = 100 + 10 * value;
        const Trend trend = find_trend(series(values));
        growing += trend.shape == TrendShape::kGrowing ? 1 : 0;
        falling += trend.shape == TrendShape::kFalling ? 1 : 0;
      }
      EXPECT_LE(growing + falling, 25) << count << " values, memory " << memory;
      EXPECT_LE(growing, 15) << count << " values, memory " << memory;
    }
  }
}

TEST(HeapTrend, TheIntervalCoversTheSlope) {
  for (const std::size_t count : {16, 40, 120}) {
    for (const double memory : {0.0, 0.5, 0.8, 0.95}) {
      if (memory_is_too_long(count, memory)) continue;
      int covered = 0, growing = 0;
      for (unsigned run = 0; run < 500; ++run) {
        std::vector<double> values = noise(count, memory, run * 13 + 5);
        for (std::size_t i = 0; i < count; ++i) values[i] = 100 + 10 * values[i] + 2 * static_cast<double>(i);
        const Trend trend = find_trend(series(values));
        covered += trend.whole.known && trend.whole.low <= 2 && 2 <= trend.whole.high ? 1 : 0;
        growing += trend.shape == TrendShape::kGrowing ? 1 : 0;
      }
      EXPECT_GE(covered, 500 * 93 / 100) << count << " values, memory " << memory;
      // What is clear must be found as well.
      if (memory <= 0.5 || count >= 120) {
        EXPECT_GE(growing, count >= 40 ? 425 : 100) << count << " values, memory " << memory;
      }
    }
  }
}

TEST(HeapTrend, LineOfExactValuesHasNoError) {
  const Trend trend = find_trend(drawn(20, [](double t) { return 1000 + 50 * t; }));
  EXPECT_EQ(trend.shape, TrendShape::kGrowing);
  EXPECT_NEAR(trend.slope.per_s, 50, 1e-6);
  EXPECT_NEAR(trend.slope.high - trend.slope.low, 0, 1e-3);
  EXPECT_NEAR(trend.slope.r2, 1, 1e-9);
  EXPECT_NEAR(trend.growth(), 950, 60);
}

TEST(HeapTrend, WarmUpThatEndsIsAPlateau) {
  const std::vector<double> small = noise(60, 0.3, 9);
  const Trend trend = find_trend(drawn(
      60, [&](double t) { return 1e6 * std::min(t, 20.0) + 1e4 * small[static_cast<std::size_t>(t) - 1]; }));
  EXPECT_EQ(trend.shape, TrendShape::kPlateau);
  EXPECT_NEAR(trend.warm_up_s, 20, 3);
}

TEST(HeapTrend, CurveThatBendsTowardsALevelIsAPlateau) {
  EXPECT_EQ(find_trend(drawn(60, [](double t) { return 1e6 * (1 - std::exp(-t / 6)); })).shape,
            TrendShape::kPlateau);
}

TEST(HeapTrend, GrowthAfterAWarmUpIsFound) {
  const std::vector<double> small = noise(80, 0.3, 3);
  const Trend trend = find_trend(drawn(80, [&](double t) {
    return 1e6 * std::min(t, 15.0) + 2e4 * t + 3e4 * small[static_cast<std::size_t>(t) - 1];
  }));
  EXPECT_EQ(trend.shape, TrendShape::kGrowing);
  EXPECT_LE(trend.slope.low, 2e4);
  EXPECT_GE(trend.slope.high, 2e4);
}

TEST(HeapTrend, ASawToothIsNoGrowth) {
  const Trend trend = find_trend(drawn(90, [](double t) { return 1e6 + 1e5 * std::fmod(t, 13); }));
  EXPECT_NE(trend.shape, TrendShape::kGrowing);
  EXPECT_NE(trend.shape, TrendShape::kFalling);
}

TEST(HeapTrend, DoublingsAreSteps) {
  const Trend trend =
      find_trend(drawn(50, [](double t) { return std::exp2(std::ceil(std::log2(t * 1000))); }));
  EXPECT_EQ(trend.shape, TrendShape::kSteps);
  EXPECT_GE(trend.steps, 1u);
  EXPECT_LE(trend.steps, 3u);
  EXPECT_NEAR(trend.last_step_s, 33, 1.5);
}

TEST(HeapTrend, OneStepLongAgoIsAPlateau) {
  EXPECT_EQ(find_trend(drawn(60, [](double t) { return t < 20 ? 1e5 : 1e6; })).shape, TrendShape::kPlateau);
  EXPECT_EQ(find_trend(drawn(60, [](double t) { return t < 50 ? 1e5 : 1e6; })).shape, TrendShape::kSteps);
}

TEST(HeapTrend, WhatFallsFalls) {
  EXPECT_EQ(find_trend(drawn(30, [](double t) { return 1e6 - 1e4 * t; })).shape, TrendShape::kFalling);
}

TEST(HeapTrend, FewValuesSayNothing) {
  EXPECT_EQ(find_trend({}).shape, TrendShape::kTooShort);
  EXPECT_EQ(find_trend(series({1})).shape, TrendShape::kTooShort);
  EXPECT_EQ(find_trend(series({1, 2, 3, 4, 5})).shape, TrendShape::kTooShort);
  EXPECT_EQ(find_trend(std::vector<TrendPoint>(9, TrendPoint{1, 5, 0})).shape, TrendShape::kTooShort);
}

// Each second adds one block of 10 or none: a walk, whose errors residuals do not show.
TEST(HeapTrend, ErrorsOfSamplingCount) {
  std::vector<TrendPoint> points = drawn(40, [](double t) { return 100 * t; });
  EXPECT_EQ(find_trend(points).shape, TrendShape::kGrowing);
  for (TrendPoint& point : points) point.change_variance = point.variance = 1e6 * point.at_s;
  for (TrendPoint& point : points) point.change_variance = 1e6;
  const Trend trend = find_trend(points);
  EXPECT_NE(trend.shape, TrendShape::kGrowing);
  EXPECT_LT(trend.slope.low, 0);
  // Blocks that come and go: the errors of what is live stay small.
  for (TrendPoint& point : points) point.variance = 1e4;
  EXPECT_EQ(find_trend(points).shape, TrendShape::kGrowing);
  // The slope of a walk is its mean step, nearly: 1000 per step and 40 steps.
  EXPECT_NEAR((trend.slope.high - trend.slope.low) / 2, 2 * 1000 / std::sqrt(40.0) * 1.1, 60);
}

TEST(HeapTrend, LateSlicesMayBeLonger) {
  std::vector<TrendPoint> points;
  const std::vector<double> small = noise(120, 0.5, 21);
  double at = 0;
  for (std::size_t i = 0; i < small.size(); ++i) {
    at += i < 60 ? 0.05 : 1;
    points.push_back({at, 1e6 + 1e3 * at + 2e3 * small[i], 0});
  }
  const Trend trend = find_trend(points);
  EXPECT_EQ(trend.shape, TrendShape::kGrowing);
  EXPECT_LE(trend.slope.low, 1e3);
  EXPECT_GE(trend.slope.high, 1e3);
}

}  // namespace
}  // namespace fathom::analysis
