#include "analysis/diff/stable_shares.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace fathom::analysis {
namespace {

constexpr std::uint64_t kS = 1'000'000'000;

std::uint64_t itself(std::uint32_t leaf) {
  return leaf;
}

// 1,000 samples a second, `share` of them of leaf 1, the others of leaf 2.
void add_run(StableShares& shares, std::uint64_t from_s, std::uint64_t to_s, double share,
             std::mt19937& random) {
  std::bernoulli_distribution first(share);
  for (std::uint64_t second = from_s; second < to_s; ++second)
    for (std::uint64_t i = 0; i < 1'000; ++i) shares.add(second * kS + i * 1'000'000, first(random) ? 1 : 2);
}

TEST(StableShares, IntervalsShrinkAsTheRecordingGetsLonger) {
  StableShares shares;
  std::mt19937 random(1);
  add_run(shares, 0, 9, 0.3, random);
  EXPECT_TRUE(shares.top(9 * kS, 10, itself).empty()) << "too few parts of time";
  add_run(shares, 9, 10, 0.3, random);
  const auto early = shares.top(10 * kS, 10, itself);
  ASSERT_EQ(early.size(), 2);
  EXPECT_EQ(early[0].function, 2);
  EXPECT_NEAR(early[1].share, 0.3, 0.02);
  // Two are judged, so each interval holds at 97.5 %: 2.24 standard deviations.
  EXPECT_NEAR(early[1].half_width, 2.24 * std::sqrt(0.3 * 0.7 / 10'000), 0.0005);
  add_run(shares, 10, 40, 0.3, random);
  const auto late = shares.top(40 * kS, 10, itself);
  EXPECT_NEAR(late[1].half_width / early[1].half_width, 0.5, 0.05) << "four times the samples";
}

TEST(StableShares, PhasesMakeThemUncertain) {
  StableShares even, phases;
  std::mt19937 random(2);
  for (std::uint64_t second = 0; second < 20; ++second) {
    add_run(even, second, second + 1, 0.3, random);
    add_run(phases, second, second + 1, second / 5 % 2 == 0 ? 0.1 : 0.5, random);
  }
  EXPECT_GT(phases.top(20 * kS, 1, itself)[0].half_width, 5 * even.top(20 * kS, 1, itself)[0].half_width);
}

TEST(StableShares, LeavesOfOneFunctionAreAddedUp) {
  StableShares shares;
  std::mt19937 random(3);
  add_run(shares, 0, 12, 0.3, random);
  const auto top = shares.top(12 * kS, 10, [](std::uint32_t) { return std::uint64_t{7}; });
  ASSERT_EQ(top.size(), 1);
  EXPECT_EQ(top[0].share, 1);
  EXPECT_LT(top[0].half_width, 0.001);
}

TEST(StableShares, ALongRecordingKeepsItsEarlySamples) {
  StableShares shares;
  for (std::uint64_t second = 0; second < 1'000; ++second) shares.add(second * kS, second < 250 ? 1 : 2, 4);
  const auto top = shares.top(1'000 * kS, 10, itself);
  ASSERT_EQ(top.size(), 2);
  // A piece is 16 s long by now; the last one is incomplete and is left out.
  EXPECT_DOUBLE_EQ(top[1].share, 250.0 / 992);
  StableShares late;
  late.add(10'000 * kS, 1);
  EXPECT_TRUE(late.top(10'001 * kS, 10, itself).empty());
}

}  // namespace
}  // namespace fathom::analysis
