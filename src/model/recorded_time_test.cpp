#include "model/recorded_time.h"

#include <gtest/gtest.h>

namespace fathom::model {
namespace {

using Intervals = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(RecordedTime, OnlyTimeThatNoIntervalCoversIsAGap) {
  const std::vector<std::pair<Intervals, std::uint64_t>> table = {
      {{}, 0},
      {{{10, 20}}, 0},
      {{{10, 20}, {20, 30}}, 0},
      {{{10, 20}, {25, 30}}, 5},
      {{{25, 30}, {10, 20}}, 5},            // in any order
      {{{10, 40}, {15, 20}, {45, 50}}, 5},  // one inside of another
      {{{10, 20}, {15, 30}, {40, 50}, {60, 70}}, 20},
      {{{10, 20}, {100, 90}, {100, 100}}, 0},  // what covers nothing opens no gap
  };
  for (const auto& [intervals, gap] : table) EXPECT_EQ(gaps_between(intervals), gap);
}

TEST(RecordedTime, IsNeverMoreThanTheTimeBetweenStartAndEndNorLessThanNothing) {
  Profile profile;
  profile.meta.start_ns = 1'000'000'000;
  profile.meta.end_ns = 5'000'000'000;
  EXPECT_DOUBLE_EQ(recorded_s(profile), 4);
  for (const auto& [fact, seconds] : std::vector<std::pair<const char*, double>>{
           {"1000000000", 3}, {"0", 4}, {"99999999999999", 0}, {"-5", 4}, {"a while", 4}, {"", 4}}) {
    profile.meta.facts["unrecorded_ns"] = fact;
    EXPECT_DOUBLE_EQ(recorded_s(profile), seconds) << fact;
  }
}

}  // namespace
}  // namespace fathom::model
