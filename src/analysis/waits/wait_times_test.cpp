#include "analysis/waits/wait_times.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

// 5,000 waits of up to 3 s, which begin nearly in the order of time over 100 s; one lasts for half of it.
TEST(WaitTimes, EveryWaitOfAPieceIsVisitedOnceAndFarOnesAreNot) {
  HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
  const auto at = hand.stack({hand.frame(app, {"main"})});
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i)
    hand.wait(thread, at, "read", i * 0.02 + static_cast<double>(random() % 100) / 1000,
              i == 1000 ? 50'000 : static_cast<double>(random() % 3000), static_cast<double>(random() % 10));
  const Waits waits(hand.profile, {});
  const WaitTimes times(waits);
  const std::uint64_t start = hand.profile.meta.start_ns;
  for (int second = 0; second < 105; second += 7) {
    const std::uint64_t first = start + static_cast<std::uint64_t>(second) * 1'000'000'000;
    const std::uint64_t end = first + 7'000'000'000;
    const auto reaches_in = [&](const model::Wait& wait) {
      return wait.start_ns < end && wait.start_ns + wait.waited_ns + wait.queued_ns >= first;
    };
    std::vector<model::Wait> wanted, visited;
    for (const SelectedWait& row : waits.rows())
      if (reaches_in(row.wait)) wanted.push_back(row.wait);
    std::size_t visits = 0;
    times.for_each_near(first, end, [&](const SelectedWait& row) {
      ++visits;
      if (reaches_in(row.wait)) visited.push_back(row.wait);
    });
    EXPECT_EQ(visited, wanted) << "from second " << second;
    EXPECT_LT(visits, waits.rows().size() / 2) << "from second " << second;
  }
}

TEST(WaitTimes, OfNoWaitsVisitNothing) {
  HandMade hand;
  const Waits waits(hand.profile, {});
  WaitTimes(waits).for_each_near(0, UINT64_MAX, [](const SelectedWait&) { FAIL(); });
}

}  // namespace
}  // namespace fathom::analysis
