#include "analysis/diff/load_evenness.h"

#include <gtest/gtest.h>

#include <vector>

#include "analysis/diff/hand_made_sides.h"

namespace fathom::analysis {
namespace {

TEST(LoadEvenness, UnevennessIsTheVariationBeyondSampling) {
  // 100 samples per piece vary by 10 by chance.
  const std::vector<std::int64_t> by_chance{90, 110, 100, 95, 105, 110, 90, 100};
  EXPECT_DOUBLE_EQ(unevenness_of(by_chance, 1).value(), 0);
  const std::vector<std::int64_t> in_bursts{0, 200, 0, 200, 0, 200, 0, 200};
  EXPECT_NEAR(unevenness_of(in_bursts, 1).value(), 1.06, 0.01);
  const std::vector<std::int64_t> few{9, 11, 10, 9, 11};
  EXPECT_EQ(unevenness_of(few, 1), std::nullopt) << "too few samples to tell";
  EXPECT_EQ(unevenness_of(std::span(in_bursts).first(4), 1), std::nullopt) << "too few parts";
}

TEST(LoadEvenness, UnevennessOfARecordingCoversTheSelectedTime) {
  model::Profile profile = side_of_change(false);
  EXPECT_LT(unevenness_of(profile, Selection{}).value(), 0.02);
  // Nothing in the second half.
  const std::uint64_t half_ns = (profile.meta.end_ns - profile.meta.start_ns) / 2;
  std::erase_if(profile.samples, [&](const model::Sample& sample) {
    return sample.time_ns >= profile.meta.start_ns + half_ns;
  });
  EXPECT_NEAR(unevenness_of(profile, Selection{}).value(), 1.02, 0.02);
  EXPECT_LT(unevenness_of(profile, {.to_ns = half_ns}).value(), 0.02);
  profile.meta.end_ns = profile.meta.start_ns;
  EXPECT_EQ(unevenness_of(profile, Selection{}), std::nullopt) << "no times are known";
}

TEST(LoadEvenness, UnevennessOfAComparisonComesFromItsRuns) {
  const model::Profile base = side_of_change(false), fresh = side_of_change(true);
  const DiffReport report = compare_sides(base, fresh);
  EXPECT_LT(report.base.unevenness.value(), 0.02);
}

}  // namespace
}  // namespace fathom::analysis
