#include "analysis/diff/power.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fathom::analysis {
namespace {

DiffReport twenty_seconds() {
  DiffReport report;
  report.base.seconds = report.fresh.seconds = 20;
  report.base_runs = 1;
  report.tree.runs = 2;
  report.level = 0.05;
  report.own_spread = kRunToRun;
  return report;
}

Change of(double size, double sd) {
  Change change;
  change.base = change.fresh = size;
  change.sd = sd;
  return change;
}

TEST(Power, FourTimesAsLongShowsHalfTheChange) {
  // Two runs of ten thousand samples each: the difference varies by 1.41 %.
  DiffReport report = twenty_seconds();
  report.base_runs = 2;  // no spread of runs is assumed
  report.tree.runs = 4;
  const Power power = power_of(report, of(1, 0.0141), 0.02);
  EXPECT_NEAR(power.detected, (1.96 + 0.8416) * 0.0141, 1e-4);
  EXPECT_NEAR(power.times_longer, std::pow(power.detected / 0.02, 2), 1e-9);
  EXPECT_NEAR(power.seconds, 20 * power.times_longer, 1e-9);
}

TEST(Power, ForChangesBelowTheSpreadOfRunsOnlyMoreRunsHelp) {
  const Power power = power_of(twenty_seconds(), of(1, 0.0173), 0.01);
  EXPECT_EQ(power.times_longer, 0);
  EXPECT_GT(power.runs, 10u);
  EXPECT_LT(power.runs, 100u);
}

// Pairs with many changes left a higher level for each figure, and promised more than the next pair can show.
TEST(Power, TheLevelCountsAllFiguresRegardlessOfTheResult) {
  DiffReport quiet = twenty_seconds(), loud = twenty_seconds();
  quiet.looked_at = loud.looked_at = 100;
  quiet.level = 0.05 / 100;
  loud.level = 0.05 / 3;
  EXPECT_EQ(power_of(loud, of(1, 0.0141), 0.02).detected, power_of(quiet, of(1, 0.0141), 0.02).detected);
  EXPECT_GT(power_of(loud, of(1, 0.0141), 0.02).detected,
            power_of(twenty_seconds(), of(1, 0.0141), 0.02).detected);
}

TEST(Power, EmptyFiguresHaveNoPower) {
  const Power power = power_of(twenty_seconds(), of(0, 0), 0.01);
  EXPECT_EQ(power.detected, 0);
  EXPECT_EQ(power.runs, 0u);
}

}  // namespace
}  // namespace fathom::analysis
