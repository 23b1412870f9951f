#include "analysis/spans/latency.h"

#include <gtest/gtest.h>

#include <map>

#include "analysis/spans/hand_made_spans.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

// engine runs execute alone for 900 ms; then four threads run flush for 100 ms.
struct OneThenFour : HandMadeSpans {
  explicit OneThenFour(bool with_waits) {
    const auto process = profile.threads[engine.value].process;
    const auto fourth = thread(process, 13, "fourth");
    const double period_ms = 10;  // of HandMade
    for (int i = 0; i < 90; ++i) sample(engine, stack({main, execute}), 1, i * period_ms / 1000);
    for (const auto one : {engine, persistence, disk, fourth})
      for (int i = 0; i < 10; ++i) sample(one, stack({main, flush}), 1, (900 + i * period_ms) / 1000);
    profile.meta.end_ns = at(1000);
    if (!with_waits) return;
    for (const auto one : {persistence, disk, fourth})
      wait(one, stack({main, condition, futex_wait}), "futex", 0, 900, 0, word);
  }
  std::map<std::string, double> sums() const {
    std::map<std::string, double> sums;
    for (const model::Sample& row : profile.samples) {
      const model::Frame& leaf = profile.frames[profile.stacks[row.stack.value].frame.value];
      const auto& line = profile.lines[leaf.first_line];
      sums[std::string(profile.strings[profile.functions[line.function.value].name])] +=
          static_cast<double>(row.value);
    }
    return sums;
  }
};

TEST(Latency, WhatRunsAloneCountsInFull) {
  for (const bool with_waits : {true, false}) {
    OneThenFour hand(with_waits);
    ASSERT_TRUE(weigh_by_parallelism(hand.profile));
    EXPECT_NEAR(hand.sums().at("node::execute_block"), 900e6, 15e6) << with_waits;
    EXPECT_NEAR(hand.sums().at("node::Persistence::flush"), 100e6, 15e6) << with_waits;
    EXPECT_EQ(hand.profile.meta.facts.at("unit"), "ns");
  }
}

TEST(Latency, SamplesWithoutALengthStayAsTheyAre) {
  OneThenFour hand(true);
  hand.profile.meta.frequency_hz = 0;
  const model::Profile before = hand.profile;
  EXPECT_FALSE(weigh_by_parallelism(hand.profile));
  EXPECT_EQ(hand.profile, before);
}

TEST(Latency, LeavesAnyRecordingValid) {
  model::for_each_profile(100, [](const model::Profile& random) {
    model::Profile profile = random;
    weigh_by_parallelism(profile);
    EXPECT_TRUE(model::check(profile));
    EXPECT_EQ(profile.samples.size(), random.samples.size());
  });
}

}  // namespace
}  // namespace fathom::analysis
