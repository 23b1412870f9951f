#include "analysis/summary/sample_count.h"

#include <gtest/gtest.h>

namespace fathom::analysis {
namespace {

using Verdict = SampleCheck::Verdict;

Verdict verdict_of(const SampleCount& count) {
  return check(count).verdict;
}

TEST(SampleCount, OfAProgramThatComputesIsHeldToFewPercent) {
  SampleCount count{.taken = 29'970, .expected = 29'970, .frequency_hz = 999, .runs = 1000, .cpus = 2};
  EXPECT_EQ(verdict_of(count), Verdict::kAgrees);
  EXPECT_LT(check(count).error, 0.002 * count.expected);
  count.taken = 0.85 * count.expected;
  EXPECT_EQ(verdict_of(count), Verdict::kTooFew);
}

TEST(SampleCount, OfAProgramThatMostlySleepsHasTheErrorOfItsNumber) {
  // As measured: a sync for each request.
  SampleCount count{.taken = 66, .expected = 88, .frequency_hz = 999, .runs = 3800, .cpus = 2};
  EXPECT_EQ(verdict_of(count), Verdict::kAgrees);
  EXPECT_GT(check(count).error, 18);
  count.taken = 52;
  EXPECT_EQ(verdict_of(count), Verdict::kShortRuns);
}

TEST(SampleCount, OfShortRunsMissesWhatATimerThatComesLateCannotHit) {
  // As measured: 114,541 times on a CPU, 15.5 us each.
  const SampleCount count{.taken = 3104, .expected = 8887, .frequency_hz = 4999, .runs = 114'541, .cpus = 2};
  EXPECT_EQ(verdict_of(count), Verdict::kShortRuns);
  EXPECT_NEAR(check(count).run_s, 15.5e-6, 0.1e-6);
}

TEST(SampleCount, ALossIsSeenBehindOrdinaryRuns) {
  // A server that is woken a thousand times a second: half of its samples do not come.
  const SampleCount count{.taken = 5000, .expected = 10'000, .frequency_hz = 999, .runs = 10'000, .cpus = 2};
  EXPECT_EQ(verdict_of(count), Verdict::kTooFew);
}

TEST(SampleCount, OneThatNeverArrivesIsNoticedAsSoonAsItIsCertain) {
  EXPECT_EQ(verdict_of({.taken = 0, .expected = 2, .frequency_hz = 99, .runs = 40}), Verdict::kAgrees);
  EXPECT_EQ(verdict_of({.taken = 0, .expected = 1000, .frequency_hz = 999, .runs = 40}), Verdict::kTooFew);
}

TEST(SampleCount, TimeThatTheHostTookIsNoLoss) {
  SampleCount count{.taken = 700, .expected = 1000, .frequency_hz = 999, .runs = 10};
  EXPECT_EQ(verdict_of(count), Verdict::kTooFew);
  count.stolen_share = 0.3;
  EXPECT_EQ(verdict_of(count), Verdict::kStolen);
}

TEST(SampleCount, OfThreadsThatEndIsMoreThanTheKernelHadBooked) {
  const SampleCount count{
      .taken = 1358, .expected = 492, .frequency_hz = 999, .runs = 3000, .ended_threads = 3000};
  EXPECT_EQ(verdict_of(count), Verdict::kMore);
}

TEST(SampleCount, OfARecordingWithoutRunsHasTheErrorOfChance) {
  EXPECT_NEAR(check({.taken = 79, .expected = 100, .frequency_hz = 99}).error, 20, 1);
  EXPECT_EQ(verdict_of({.taken = 79, .expected = 100, .frequency_hz = 99}), Verdict::kAgrees);
  EXPECT_EQ(verdict_of({.taken = 450, .expected = 2000, .frequency_hz = 100}), Verdict::kTooFew);
}

TEST(SampleCount, OfNextToNothingHasNoErrorOfATick) {
  EXPECT_LT(check({.taken = 1, .expected = 2, .frequency_hz = 999, .runs = 20, .cpus = 2}).error, 4);
}

TEST(SampleCount, OfNothingExpectedSaysNothing) {
  EXPECT_EQ(verdict_of({.taken = 0, .expected = 0, .frequency_hz = 999}), Verdict::kAgrees);
  EXPECT_EQ(verdict_of({.taken = 5, .expected = 0, .frequency_hz = 0}), Verdict::kAgrees);
}

}  // namespace
}  // namespace fathom::analysis
