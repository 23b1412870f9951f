// What few samples can show: a growth has its interval, an amount its possible range, and nothing based on a
// handful of sampled blocks has high confidence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/verdicts/testing_server.h"

namespace fathom::analysis {
namespace {

using model::HeapMode;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint32_t kMean = 512 * 1024;

// A server whose blocks are sampled as the tracer does.
class SampledServer : public Server {
 public:
  explicit SampledServer(std::uint64_t seed) : Server(HeapMode::kSampled), random_(seed) {
    profile.heap.heaps[0].mean_bytes = kMean;
  }
  // In the second that was begun last, of one function: blocks of one size, of which those that are sampled have a row.
  void allocate(model::HeapSiteId site, int blocks, std::uint64_t size, bool freed = false) {
    const double seen = -std::expm1(-static_cast<double>(size) / kMean);
    const auto count = static_cast<double>(std::binomial_distribution<int>(blocks, seen)(random_));
    if (count == 0) return;
    const model::HeapWeight weight = model::weight_of(size, kMean);
    const model::HeapSum sum{count * weight.sum.blocks, count * weight.sum.bytes};
    const model::HeapVariance variance{count * weight.variance.blocks, count * weight.variance.bytes};
    model::HeapRow& made = row(site, sum, freed ? sum : model::HeapSum{});
    made.allocated_variance = variance;
    if (!freed) return;
    made.freed_variance = variance;
    made.churn_variance = variance.bytes;
  }

 private:
  std::mt19937_64 random_;
};

bool is_growth(const HeapVerdict& verdict) {
  return verdict.kind == HeapVerdictKind::kGrowing || verdict.kind == HeapVerdictKind::kLeak ||
         verdict.kind == HeapVerdictKind::kMayLevel;
}

// 20 s of a leak of 0.5 MiB/s, of which about 20 blocks are sampled, among much that is allocated and freed
// at once.
TEST(HeapVerdictsOfFewSamples, AGrowthThatIsMeasuredStandsBeforeChurn) {
  constexpr int kSeeds = 40;
  int first = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SampledServer server(seed);
    const auto leak = server.function("keep_session"), churn = server.function("parse");
    for (int i = 0; i < 20; ++i) {
      server.second();
      server.allocate(churn, 200'000, 400, true);
      server.allocate(leak, 512, 1024);
    }
    const auto verdicts = server.verdicts();
    ASSERT_FALSE(verdicts.empty());
    const HeapVerdict& top = verdicts.front();
    if (!is_growth(top)) continue;
    ++first;
    EXPECT_NE(top.confidence, Confidence::kLow) << all_text(top);
    ASSERT_TRUE(top.trend);
    EXPECT_GT(top.trend->slope.low, 0) << all_text(top);
    EXPECT_THAT(present::sentence_of(top), HasSubstr("(95 %: "));
  }
  EXPECT_GE(first, kSeeds * 3 / 4) << "of a leak of 20 samples the interval lies above zero mostly";
}

// The cost: a server that only swings is reported as growing no more often than the interval allows.
TEST(HeapVerdictsOfFewSamples, AServerThatIsLevelIsNotSaidToGrow) {
  constexpr int kSeeds = 100;
  int grows = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SampledServer server(seed);
    const auto sessions = server.function("open_session"), table = server.function("load_table");
    for (int i = 0; i < 20; ++i) {
      server.second();
      if (i == 0) server.allocate(table, 20'000, 1024);
      server.allocate(sessions, 5'000, 1024, true);
    }
    for (const HeapVerdict& verdict : server.verdicts())
      if (is_growth(verdict) && verdict.confidence != Confidence::kLow) {
        ++grows;
        break;
      }
  }
  EXPECT_LE(grows, kSeeds / 20);
}

// 60 s of a leak of 260 KiB/s next to a cache whose samples swing by much more. Samples of the heap cannot
// show the leak; the kernel counts every page of it.
TEST(HeapVerdictsOfFewSamples, AGrowthThatTheKernelCountsIsGrowthWhereSamplesOnlySwing) {
  constexpr int kSeeds = 20, kSeconds = 60;
  int anchored = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SampledServer server(seed);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> wanted(60, 20);
    const model::HeapWeight weight = model::weight_of(1024, kMean);
    const auto leak = server.function("keep_session"), cache = server.function("fill_cache");
    double samples = 0;
    for (int i = 0; i < kSeconds; ++i) {
      server.second();
      server.allocate(leak, 260, 1024);
      const double change = std::max(-samples, std::round(wanted(random)) - samples);
      const model::HeapSum sum{std::fabs(change) * weight.sum.blocks, std::fabs(change) * weight.sum.bytes};
      const model::HeapVariance variance{std::fabs(change) * weight.variance.blocks,
                                         std::fabs(change) * weight.variance.bytes};
      model::HeapRow& row = change > 0 ? server.row(cache, sum) : server.row(cache, {}, sum);
      (change > 0 ? row.allocated_variance : row.freed_variance) = variance;
      row.churn_variance = variance.bytes;
      samples += change;
    }
    server.rss([](int second) { return 60e6 + second * 260.0 * 1024; }, kSeconds);
    const auto verdicts = server.verdicts();
    EXPECT_TRUE(std::ranges::any_of(verdicts, is_growth)) << seed;
    for (const HeapVerdict& verdict : verdicts) {
      EXPECT_NE(verdict.kind, HeapVerdictKind::kLevel) << all_text(verdict);
      EXPECT_NE(verdict.kind, HeapVerdictKind::kNoise) << all_text(verdict);
      if (!verdict.facts.of_process) continue;
      ++anchored;
      EXPECT_THAT(all_text(verdict), HasSubstr("--heap=exact"));
      EXPECT_NEAR(verdict.trend->slope.per_s, 260 * 1024, 1024);
    }
  }
  EXPECT_GE(anchored, kSeeds / 4) << "of the others the samples show it";
}

TEST(HeapVerdictsOfFewSamples, AStepOfTheProcessIsNoGrowth) {
  SampledServer server(7);
  const auto cache = server.function("fill_cache");
  for (int i = 0; i < 60; ++i) {
    server.second();
    server.allocate(cache, i % 2 == 0 ? 20'000 : 5'000, 1024, true);
  }
  server.rss([](int second) { return second < 30 ? 60e6 : 75e6; }, 60);
  for (const HeapVerdict& verdict : server.verdicts())
    EXPECT_FALSE(verdict.facts.of_process) << all_text(verdict);
}

// It said "Not freed: 512.5 KiB in 513 blocks, confidence high" of one block that was sampled.
TEST(HeapVerdictsOfFewSamples, WhatRestsOnOneBlockSaysBetweenWhatItLies) {
  SampledServer server(1);
  const auto kept = server.function("keep_config");
  const model::HeapWeight weight = model::weight_of(1024, kMean);
  for (int i = 0; i < 90; ++i) {
    server.second();
    if (i == 3) server.row(kept, weight.sum).allocated_variance = weight.variance;
  }
  server.end_program();
  const auto verdicts = server.verdicts();
  const HeapVerdict* left = find(verdicts, HeapVerdictKind::kUnfreed);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->confidence, Confidence::kLow) << all_text(*left);
  EXPECT_THAT(present::sentence_of(*left),
              HasSubstr("(one sample: between 13.1 KiB and 2.8 MiB) in 13 to 2,900 blocks"));
  EXPECT_THAT(all_text(*left), HasSubstr("it rests on one sample"));
}

TEST(HeapVerdictsOfFewSamples, WhatRestsOnTenSaysItsErrorAndIsNotCertain) {
  for (const int samples : {10, 400}) {
    SampledServer server(1);
    const auto kept = server.function("keep_config");
    const model::HeapWeight weight = model::weight_of(1024, kMean);
    for (int i = 0; i < 90; ++i) {
      server.second();
      if (i != 3) continue;
      model::HeapRow& row = server.row(kept, {samples * weight.sum.blocks, samples * weight.sum.bytes});
      row.allocated_variance = {samples * weight.variance.blocks, samples * weight.variance.bytes};
    }
    server.end_program();
    const auto verdicts = server.verdicts();
    const HeapVerdict* left = find(verdicts, HeapVerdictKind::kUnfreed);
    ASSERT_TRUE(left);
    EXPECT_THAT(present::sentence_of(*left), HasSubstr("±"));
    EXPECT_EQ(left->confidence, samples == 10 ? Confidence::kMedium : Confidence::kHigh) << all_text(*left);
    EXPECT_EQ(all_text(*left).find("it rests on 10 samples") != std::string::npos, samples == 10);
  }
}

TEST(HeapVerdictsOfFewSamples, EveryCallSeenHasNoError) {
  Server server;
  const auto kept = server.function("keep_config");
  for (int i = 0; i < 90; ++i) {
    server.second();
    if (i == 3) server.row(kept, {20, 20'480});
  }
  server.end_program();
  const auto verdicts = server.verdicts();
  const HeapVerdict* left = find(verdicts, HeapVerdictKind::kUnfreed);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->confidence, Confidence::kHigh) << all_text(*left);
  EXPECT_THAT(present::sentence_of(*left), Not(HasSubstr("±")));
}

}  // namespace
}  // namespace fathom::analysis
