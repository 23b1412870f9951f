#include "cli/until_stable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "record/session/testing_lent.h"

namespace fathom::cli {
namespace {

constexpr std::uint64_t kS = 1'000'000'000;

// A recording that began at 100 s and is saved once a second.
class UntilStable : public testing::Test {
 protected:
  UntilStable() : builder_(profile_) {
    profile_.meta.start_ns = 100 * kS;
    model::Module names;
    names.kind = model::ModuleKind::kNames;
    const model::ModuleId module = builder_.module(names);
    for (const char* name : {"f", "g"})
      stacks_.push_back(builder_.stack({}, builder_.named_frame(name, module)));
  }
  // One second of a thousand samples, of which `share` are of f.
  void second(StableCompanion& companion, double share) {
    std::bernoulli_distribution first(share);
    for (std::uint64_t i = 0; i < 1'000; ++i) {
      model::Sample sample;
      sample.time_ns = (100 + seconds_) * kS + i * 1'000'000;
      sample.stack = stacks_[first(random_) ? 0 : 1];
      profile_.samples.push_back(sample);
    }
    ++seconds_;
    (void)companion.before_save(lent_.lent(), false);
    profile_.samples.clear();
    companion.step(lent_.lent(), (100 + seconds_) * kS);
  }
  int seconds_until_enough(StableCompanion& companion, int most, const std::function<double(int)>& share) {
    for (int i = 0; i < most; ++i) {
      if (lent_.ended) return i;
      second(companion, share(i));
    }
    return most;
  }

  model::Profile profile_;
  model::Builder builder_;
  session::TestingLent lent_{profile_, builder_};
  std::vector<model::StackId> stacks_;
  std::uint64_t seconds_ = 0;
  std::mt19937 random_{1};
};

TEST_F(UntilStable, ItIsEnoughWhenSharesAreKnownAsWellAsWasAskedFor) {
  // ±2.24 sqrt(0.21 / n) is a point from 10,500 samples on, which is 11 s and a look more; what came last is looked at late.
  StableCompanion companion(0.01);
  const int took = seconds_until_enough(companion, 100, [](int) { return 0.3; });
  EXPECT_GE(took, 11);
  EXPECT_LE(took, 16);
  (void)companion.before_save(lent_.lent(), true);
  EXPECT_THAT(companion.sentence(), testing::StartsWith("recorded until shares were stable, for"));
  EXPECT_THAT(profile_.quality.notes, testing::ElementsAre(companion.sentence()));
  EXPECT_THAT(profile_.meta.facts["until_stable"], testing::StartsWith("reached 0.0100"));
}

TEST_F(UntilStable, AMorePreciseOneTakesLonger) {
  StableCompanion companion(0.005);
  EXPECT_GT(seconds_until_enough(companion, 100, [](int) { return 0.3; }), 30);
}

TEST_F(UntilStable, WhatChangesAllTheTimeIsNotStable) {
  StableCompanion companion(0.01);
  EXPECT_EQ(seconds_until_enough(companion, 40, [](int i) { return i % 2 == 0 ? 0.1 : 0.6; }), 40);
  (void)companion.before_save(lent_.lent(), true);
  EXPECT_THAT(companion.sentence(), testing::HasSubstr("not stable at the end"));
  EXPECT_THAT(profile_.meta.facts["until_stable"], testing::StartsWith("missed"));
}

TEST_F(UntilStable, ReportsTooFewSamples) {
  StableCompanion companion(0.01);
  companion.step(lent_.lent(), 130 * kS);
  EXPECT_FALSE(lent_.ended);
  (void)companion.before_save(lent_.lent(), true);
  EXPECT_THAT(companion.sentence(), testing::HasSubstr("too few samples"));
}

}  // namespace
}  // namespace fathom::cli
