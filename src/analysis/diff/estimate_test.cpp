#include "analysis/diff/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace fathom::analysis {
namespace {

using Values = std::vector<std::int64_t>;

RunScale scale(std::size_t pieces, double most = 0) {
  RunScale run;
  run.pieces = pieces;
  run.most = most;
  run.own_spread = 0;
  return run;
}

TEST(Estimate, ACountVariesByItsSquareRoot) {
  const Values one{400}, whole{10'000};
  const Figure figure = figure_of(one, whole, {scale(1)});
  EXPECT_EQ(figure.mean, 400);
  EXPECT_EQ(figure.variance, 400);
}

TEST(Estimate, AFunctionThatTakesEveryTickDoesNotVary) {
  const Values one{10'000}, whole{10'000};
  EXPECT_LE(figure_of(one, whole, {scale(1, 10'000)}).variance, 1);
}

TEST(Estimate, AShareRefersToItsOwnRun) {
  RunScale run = scale(1);
  run.of_whole = true;
  const Values half{50}, whole{100};
  const Figure figure = figure_of(half, whole, {run});
  EXPECT_EQ(figure.mean, 0.5);
  EXPECT_NEAR(figure.variance, 0.25 / 100, 1e-12);
}

TEST(Estimate, PhasesMakeAFigureUncertain) {
  const Values even(20, 100), whole(20, 1000);
  Values phases(20, 0);
  for (std::size_t i = 0; i < 10; ++i) phases[i] = 200;
  EXPECT_EQ(figure_of(even, whole, {scale(20)}).variance, 2000);
  // One phase per run: 2000 is only known within a few hundred, not within 45.
  EXPECT_GT(figure_of(phases, whole, {scale(20)}).variance, 400.0 * 400);
}

// Five runs of base show how much runs differ, so nothing is assumed for the single run of new.
TEST(Estimate, TheSpreadOfOneSidesRunsAppliesToTheSingleRunOfTheOther) {
  RunScale counted = scale(1);
  counted.weight = 0;  // no sampling error
  counted.own_spread = 0.01;
  const std::vector<RunScale> runs(6, counted);
  const Values whole(6, 100'000);
  const Change wide = change_of_runs(Values{900, 1100, 1000, 950, 1050, 2000}, whole, runs, 5);
  // Standard deviation of one run: 79 of 1000; so 158 of the 2000, and 35 of the mean of five.
  EXPECT_NEAR(wide.sd, std::hypot(158.1, 35.4), 0.1);
  EXPECT_LT(wide.freedom, 6);
  const Change turned = change_of_runs(Values{2000, 900, 1100, 1000, 950, 1050}, whole, runs, 1);
  EXPECT_DOUBLE_EQ(turned.sd, wide.sd);
  EXPECT_DOUBLE_EQ(turned.change, -wide.change);
  const Change equal = change_of_runs(Values(6, 1000), whole, runs, 5);
  EXPECT_EQ(equal.sd, 0) << "five equal runs: 1 % is not assumed";
}

TEST(Estimate, TwoRunsAreTooFewToAssumeLessThanUsual) {
  RunScale counted = scale(1);
  counted.weight = 0;
  counted.own_spread = 0.01;
  const Values whole(3, 100'000);
  const Change change = change_of_runs(Values{1000, 1000, 2000}, whole, std::vector<RunScale>(3, counted), 2);
  EXPECT_DOUBLE_EQ(change.sd, 20) << "1 % of the one";
}

TEST(Estimate, TheSpreadOfRunsCountsIfItIsLarger) {
  const std::vector<RunScale> three(3, scale(1));
  const Values whole(3, 10'000);
  const Figure wide = figure_of(Values{100, 400, 700}, whole, three);
  EXPECT_EQ(wide.mean, 400);
  EXPECT_NEAR(wide.variance, 90'000.0 / 3, 1);
  EXPECT_EQ(wide.freedom, 2);
  const Figure narrow = figure_of(Values{400, 400, 400}, whole, three);
  EXPECT_NEAR(narrow.variance, 400.0 / 3, 1e-9);
}

TEST(Estimate, ExchangingTheSidesFlipsTheSign) {
  const Values a{400}, b{500}, whole{1000};
  const Figure one = figure_of(a, whole, {scale(1)}), other = figure_of(b, whole, {scale(1)});
  const Change there = change_between(one, other), back = change_between(other, one);
  EXPECT_EQ(there.change, -back.change);
  EXPECT_EQ(there.p, back.p);
  EXPECT_EQ(there.sd, back.sd);
}

TEST(Estimate, NoChangeIsNeverBeyondNoise) {
  const Values a{400}, whole{1000};
  const Figure figure = figure_of(a, whole, {scale(1)});
  Change same = change_between(figure, figure);
  same.looked_at = true;
  judge(same, holm_level({same.p}));
  EXPECT_FALSE(same.beyond_noise);
  EXPECT_EQ(same.p, 1);
}

TEST(Holm, GoesOnWithTheRestAfterEachRejection) {
  // 0.001 <= 0.05/4, 0.012 <= 0.05/3, 0.02 <= 0.05/2, 0.2 > 0.05.
  EXPECT_DOUBLE_EQ(holm_level({0.2, 0.001, 0.02, 0.012}), 0.05);
  EXPECT_DOUBLE_EQ(holm_level({0.2, 0.02, 0.02, 0.012}), 0.05 / 3);  // 0.012 <= 0.05/4, 0.02 > 0.05/3
  EXPECT_DOUBLE_EQ(holm_level({}), 0.05);
}

TEST(Judge, TheIntervalIncludesZeroExactlyWhenTheChangeIsNoise) {
  for (const double of_sd : {0.5, 1.9, 2.0, 3.0}) {
    Figure base, fresh;
    base.mean = 100;
    base.variance = fresh.variance = 8;
    base.freedom = fresh.freedom = 30;
    fresh.mean = 100 + of_sd * 4;
    Change change = change_between(base, fresh);
    change.looked_at = true;
    judge(change, 0.05);
    EXPECT_EQ(change.beyond_noise, std::fabs(change.change) > change.error) << of_sd;
    EXPECT_NEAR(change.error, 2.0003 * 4, 0.001);  // 97.5 % of Student's t with 60 degrees
  }
}

TEST(Judge, AFigureThatIsNotJudgedNeverCountsAsChanged) {
  Change few;
  few.p = 1e-9;
  few.change = 1;
  judge(few, 0.05);
  EXPECT_FALSE(few.beyond_noise);
}

}  // namespace
}  // namespace fathom::analysis
