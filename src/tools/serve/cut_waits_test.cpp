#include "tools/serve/cut_waits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace fathom::serve {
namespace {

// Waits of a few threads, one after the other in each, as a recording has them.
std::vector<model::Wait> random_waits(std::mt19937_64& random) {
  std::vector<model::Wait> waits;
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    std::uint64_t at = 1000 + random() % 100;
    for (int i = 0; i < 40; ++i) {
      model::Wait wait;
      wait.thread = {thread};
      wait.stack = {static_cast<std::uint32_t>(random() % 3)};
      wait.start_ns = at;
      wait.waited_ns = random() % 4 == 0 ? 0 : random() % 300;
      wait.queued_ns = random() % 3 == 0 ? 0 : random() % 50;
      wait.weight = 1 + static_cast<std::uint32_t>(random() % 5);
      wait.state = wait.waited_ns == 0 ? model::WaitState::kPreempted : model::WaitState::kInterruptible;
      wait.result = static_cast<std::int64_t>(random() % 9);
      waits.push_back(wait);
      at = end_of(wait) + 1 + random() % 40;
    }
  }
  return waits;
}

std::vector<std::uint64_t> random_edges(std::mt19937_64& random) {
  std::vector<std::uint64_t> edges{0, UINT64_MAX};
  for (std::size_t i = random() % 30; i > 0; --i) edges.push_back(900 + random() % 12'000);
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

std::vector<model::Wait> sorted(std::vector<model::Wait> waits) {
  std::ranges::sort(waits);
  return waits;
}

TEST(CutWaits, EachMomentIsInOneWindowAndThePartsAreOneWaitAgain) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::vector<model::Wait> waits = random_waits(random);
    const std::vector<std::uint64_t> edges = random_edges(random);
    model::Profile profile;
    profile.threads.resize(4);
    std::uint64_t waited = 0, queued = 0;
    for (std::size_t i = 0; i + 1 < edges.size(); ++i)
      for (const model::Wait& wait : waits)
        if (const auto part = part_of(wait, edges[i], edges[i + 1])) {
          EXPECT_GE(part->start_ns, edges[i]);
          EXPECT_LE(end_of(*part), edges[i + 1]);
          profile.waits.push_back(*part);
          waited += part->waited_ns;
          queued += part->queued_ns;
        }
    std::uint64_t whole_waited = 0, whole_queued = 0;
    for (const model::Wait& wait : waits) whole_waited += wait.waited_ns, whole_queued += wait.queued_ns;
    EXPECT_EQ(waited, whole_waited);
    EXPECT_EQ(queued, whole_queued);
    profile.quality.waits = profile.waits.size();
    join_parts(profile);
    EXPECT_EQ(sorted(profile.waits), sorted(waits));
    EXPECT_EQ(profile.quality.waits, waits.size());
  }
}

TEST(CutWaits, OtherWaitsThatTouchStayTwo) {
  model::Profile profile;
  profile.threads.resize(2);
  const auto add = [&](std::uint32_t thread, std::uint64_t start, std::uint64_t length, bool unfinished,
                       bool began_before) {
    model::Wait wait;
    wait.thread = {thread};
    wait.start_ns = start;
    wait.waited_ns = length;
    wait.unfinished = unfinished;
    wait.began_before = began_before;
    profile.waits.push_back(wait);
  };
  add(0, 10, 5, true, false);
  add(1, 15, 5, false, true);   // another thread
  add(0, 16, 5, false, true);   // a moment later
  add(0, 21, 5, false, false);  // no part
  join_parts(profile);
  EXPECT_EQ(profile.waits.size(), 4u);
}

}  // namespace
}  // namespace fathom::serve
