#include "model/unsampled.h"

#include <gtest/gtest.h>

namespace fathom::model {
namespace {

Meta of_clock(std::map<std::string, std::string> facts = {}) {
  Meta meta;
  meta.event = "cpu-clock";
  meta.frequency_hz = 999;
  meta.facts = std::move(facts);
  return meta;
}
const std::map<std::string, std::string> kHidden{{"not_sampled", "the kernel does not let this user"},
                                                 {"not_sampled_try", "run as root"},
                                                 {"not_sampled_cpu_ms", "1500"}};

TEST(Unsampled, CpuTimeWithoutASampleCouldNotBeSampled) {
  const auto found = find_unsampled(of_clock(kHidden), {.cpu_s = 1.5});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->all);
  EXPECT_EQ(found->cpu_s, 1.5);
  EXPECT_EQ(found->why, "the kernel does not let this user");
  EXPECT_EQ(found->remedy, "run as root");
}

TEST(Unsampled, AnUnknownReasonIsNoReasonToCallItIdle) {
  const auto found = find_unsampled(of_clock(), {.cpu_s = 1.5});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->all);
  EXPECT_EQ(found->why, "");
}

TEST(Unsampled, APartIsToldBesideTheSamplesOfTheRest) {
  const auto found = find_unsampled(of_clock(kHidden), {.cpu_s = 2, .samples = 500});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->all);
  EXPECT_DOUBLE_EQ(found->share, 0.75);
  // Which threads of a part it were is not known.
  EXPECT_FALSE(find_unsampled(of_clock(kHidden), {.cpu_s = 2, .samples = 500, .whole = false}));
}

TEST(Unsampled, IsNotToldOfWhatHardlyRanOrWasLostOrIsNoClock) {
  EXPECT_FALSE(find_unsampled(of_clock(), {.cpu_s = 0.005}));
  EXPECT_FALSE(find_unsampled(of_clock(), {.cpu_s = std::nullopt}));
  EXPECT_FALSE(find_unsampled(of_clock(), {.cpu_s = 0.0}));
  EXPECT_FALSE(find_unsampled(of_clock(), {.cpu_s = 1.5, .lost = 1400}));
  Meta faults = of_clock();
  faults.event = "page-faults";
  EXPECT_FALSE(find_unsampled(faults, {.cpu_s = 1.5}));
}

}  // namespace
}  // namespace fathom::model
