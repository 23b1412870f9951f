#include "bench/support/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace fathom::bench {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(Rounds, EachContenderRunsOncePerRoundAndThePlainRunTwice) {
  std::vector<std::vector<std::size_t>> order(50);
  run_rounds(50, 3, [&](int round, std::size_t contender) {
    order[static_cast<std::size_t>(round)].push_back(contender);
  });
  std::set<std::vector<std::size_t>> orders(order.begin(), order.end());
  EXPECT_GT(orders.size(), 1u) << "the order is another one each time";
  for (auto& round : order) {
    std::ranges::sort(round);
    EXPECT_THAT(round, ElementsAre(0, 0, 1, 2));
  }
}

TEST(Rounds, AFigureIsComparedWithBothPlainRunsOfItsRound) {
  Figure figure(2);
  figure.add(0, 0, 90);
  figure.add(0, 1, 80);
  figure.add(0, 0, 110);
  figure.add(1, 1, 45);
  figure.add(1, 0, 40);
  figure.add(1, 0, 50);
  EXPECT_THAT(figure.ratios(1), ElementsAre(DoubleEq(0.8), DoubleEq(1.0)));
  EXPECT_THAT(figure.differences(1), ElementsAre(DoubleEq(-20), DoubleEq(0)));
  EXPECT_THAT(figure.ratios(0), ElementsAre(DoubleEq(90.0 / 110), DoubleEq(0.8)));
  EXPECT_THAT(figure.values(0), ElementsAre(90, 110, 40, 50));
}

TEST(Rounds, ARoundWithoutBothPlainRunsHasNoRatio) {
  Figure figure(2);
  figure.add(0, 1, 80);
  figure.add(0, 0, 100);
  EXPECT_TRUE(figure.ratios(1).empty());
  EXPECT_TRUE(figure.differences(1).empty());
}

}  // namespace
}  // namespace fathom::bench
