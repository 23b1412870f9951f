#include "analysis/diff/work_series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// One point every second from the start.
void add_series(HandMade& hand, const std::string& name, const std::vector<double>& values) {
  model::Series series;
  series.name = hand.builder.string(name);
  for (std::size_t i = 0; i < values.size(); ++i)
    series.points.push_back({hand.profile.meta.start_ns + i * kSecond, values[i]});
  hand.profile.series.push_back(std::move(series));
}

double work(const HandMade& hand, std::optional<std::uint64_t> from = {},
            std::optional<std::uint64_t> to = {}) {
  return work_of_series(hand.profile, "requests", from, to).value();
}

TEST(WorkSeries, IsTheGrowthOfACounter) {
  HandMade hand;
  add_series(hand, "requests", {1000, 1010, 1030, 1040});
  EXPECT_EQ(work(hand), 40);
  EXPECT_EQ(work(hand, kSecond), 30);
  EXPECT_EQ(work(hand, kSecond / 2, 2 * kSecond), 25);
  EXPECT_TRUE(has_series(hand.profile, "requests"));
  EXPECT_FALSE(has_series(hand.profile, "request"));
}

TEST(WorkSeries, AllSetsOfLabelsCount) {
  HandMade hand;
  add_series(hand, "requests{code=\"200\"}", {0, 10});
  add_series(hand, "requests{code=\"500\"}", {5, 6});
  add_series(hand, "requests_failed", {0, 1000});
  EXPECT_EQ(work(hand), 11);
}

TEST(WorkSeries, ACounterThatRestartsContinues) {
  HandMade hand;
  add_series(hand, "requests", {100, 110, 3, 8});
  EXPECT_EQ(work(hand), 18);
}

TEST(WorkSeries, ASeriesThatDoesNotCountWorkIsRejectedWithASuggestion) {
  HandMade hand;
  add_series(hand, "level", {5, 9, 4, 8, 3, 9});
  add_series(hand, "idle", {7, 7, 7});
  add_series(hand, "broken", {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL});
  for (const char* name : {"level", "idle", "broken", "none\x1b"}) {
    const Result<double> result = work_of_series(hand.profile, name, {}, {});
    ASSERT_FALSE(result) << name;
    EXPECT_FALSE(result.error().remedy.empty());
    EXPECT_EQ(result.error().message.find('\x1b'), std::string::npos);
  }
  EXPECT_NE(work_of_series(hand.profile, "none", {}, {}).error().remedy.find("broken, idle, level"),
            std::string::npos);
}

}  // namespace
}  // namespace fathom::analysis
