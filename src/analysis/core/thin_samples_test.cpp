#include "analysis/core/thin_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "analysis/core/hand_made_profile.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

std::int64_t sum_of(const model::Profile& profile) {
  std::int64_t sum = 0;
  for (const model::Sample& sample : profile.samples) sum += sample.value;
  return sum;
}

TEST(ThinSamples, KeepsTheTotalAndNoMoreThanAsked) {
  for (const std::size_t most : {1u, 7u, 100u, 899u}) {
    model::Profile profile = small_server();
    const std::int64_t before = sum_of(profile);
    EXPECT_GT(thin_samples(profile, most), 1u);
    EXPECT_LE(profile.samples.size(), most);
    EXPECT_EQ(sum_of(profile), before);
    EXPECT_EQ(profile.quality.notes.size(), small_server().quality.notes.size() + 1);
  }
}

TEST(ThinSamples, FewSamplesStayAsTheyAre) {
  model::Profile profile = small_server();
  EXPECT_EQ(thin_samples(profile, profile.samples.size()), 1u);
  EXPECT_EQ(profile, small_server());
}

// A share of 25 % stays one: 2,000 of 40,000 samples are kept, so by far less than 5 points.
TEST(ThinSamples, SharesStayWithinTheErrorOfThoseThatAreKept) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto app = hand.module("app");
  const auto often = hand.stack({hand.frame(app, {"often"})}),
             seldom = hand.stack({hand.frame(app, {"seldom"})});
  for (int i = 0; i < 10'000; ++i) {
    hand.sample(thread, often, 3, i * 0.004);
    hand.sample(thread, seldom, 1, i * 0.004 + 0.003);
  }
  thin_samples(hand.profile, 2'000);
  std::map<std::uint32_t, std::int64_t> values;
  for (const model::Sample& sample : hand.profile.samples) values[sample.stack.value] += sample.value;
  EXPECT_NEAR(static_cast<double>(values[seldom.value]) / 40'000, 0.25, 0.05);
}

}  // namespace
}  // namespace fathom::analysis
