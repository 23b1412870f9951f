#include "tools/serve/governor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace fathom::serve {
namespace {

// A machine: what a sample costs, what fathom costs without any, and how much of a core the target uses in each period.
struct Machine {
  double per_sample_s, base, load;
  double cost(std::uint32_t hz) const { return base + load * hz * per_sample_s; }
};

TEST(Governor, StaysBelowTheBudgetWhereTheRateCanDoIt) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> between(0, 1);
    Machine machine{between(random) * 1e-3, between(random) * 0.006, between(random) * 16};
    Governor governor({.budget = 0.01});
    int above = 0;
    for (int period = 0; period < 100; ++period) {
      if (period % 25 == 24) machine.load = between(random) * 16;  // the target changes what it does
      const double cost = machine.cost(governor.rate());
      const bool can = machine.cost(5) < 0.8 * 0.01;
      if (can && cost > 0.01) ++above;
      (void)governor.period_ended(cost);
      EXPECT_GE(governor.rate(), 5u);
      EXPECT_LE(governor.rate(), 99u);
    }
    // One or two periods after each change; the base is a part of the cost that the first step cannot know.
    EXPECT_LE(above, 16);
  }
}

TEST(Governor, ReturnsToTheFullRateWhenTheTargetIsQuietAgain) {
  Governor governor({.budget = 0.01});
  (void)governor.period_ended(0.2);
  EXPECT_LT(governor.rate(), 10u);
  for (int i = 0; i < 40; ++i) (void)governor.period_ended(0.0005);
  EXPECT_EQ(governor.rate(), 99u);
}

// Reading rings, waits and /proc costs the same at each rate.
TEST(Governor, ReturnsToTheFullRateAlsoIfMostOfTheCostDoesNotDependOnIt) {
  Governor governor({.budget = 0.01, .most_hz = 99, .least_hz = 5});
  (void)governor.period_ended(0.03);
  EXPECT_LT(governor.rate(), 50u);
  for (int period = 0; period < 60; ++period) {
    const double cost = 0.0053 + 0.00002 * governor.rate();
    EXPECT_LT(cost, 0.01);
    (void)governor.period_ended(cost);
  }
  EXPECT_EQ(governor.rate(), 99u);
}

TEST(Governor, SaysWhenTheLowestRateIsTooDear) {
  Governor governor({.budget = 0.01});
  for (int i = 0; i < 5; ++i) (void)governor.period_ended(0.03);
  EXPECT_EQ(governor.rate(), 5u);
  EXPECT_TRUE(governor.is_beyond_reach());
}

// Each sample stands for one period of the rate at which it was taken: 200 runs of an hour with a governor that moves.
TEST(Governor, SumsStayUnbiasedWhileTheRateMoves) {
  double sum_of_ratios = 0, squares = 0;
  int changes = 0;
  constexpr int kRuns = 200;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> between(0, 1);
    Governor governor({.budget = 0.01});
    double truth_s = 0, estimate_s = 0;
    for (int minute = 0; minute < 60; ++minute) {
      const double load = std::pow(between(random), 3) * 8;  // mostly quiet, sometimes busy
      const std::uint32_t hz = governor.rate();
      const double cpu_s = load * 60;
      std::poisson_distribution<std::uint64_t> samples(cpu_s * hz);
      const std::uint64_t taken = samples(random);
      truth_s += cpu_s;
      estimate_s += static_cast<double>(taken) / hz;
      changes += governor.period_ended(0.001 + static_cast<double>(taken) / 60 * 20e-6 * 5) != hz ? 1 : 0;
    }
    const double ratio = estimate_s / truth_s;
    sum_of_ratios += ratio;
    squares += (ratio - 1) * (ratio - 1);
  }
  EXPECT_GT(changes, kRuns) << "the governor did not move";
  const double mean = sum_of_ratios / kRuns, error = std::sqrt(squares / kRuns / kRuns);
  EXPECT_NEAR(mean, 1, 4 * error);
  EXPECT_LT(error, 0.001) << "too few samples to see a bias";
}

}  // namespace
}  // namespace fathom::serve
