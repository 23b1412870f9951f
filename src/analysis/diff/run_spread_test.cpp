#include "analysis/diff/run_spread.h"

#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

// 1,000 samples over 20 s in the functions a and b; `later`: how many of each hundred in the second half are
// in b.
model::Profile program(int later) {
  HandMade hand;
  hand.profile.meta.end_ns = hand.profile.meta.start_ns + 20'000'000'000;
  const auto app = hand.module("app");
  const auto kernel = hand.module("[kernel]", model::ModuleKind::kKernel);
  const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
  const auto main = hand.frame(app, {"main"});
  const auto a = hand.stack({main, hand.frame(app, {"a"})});
  const auto b = hand.stack({main, hand.frame(app, {"b"}), hand.frame(kernel, {"clear_page"})});
  for (int i = 0; i < 1000; ++i) {
    const int in_b = i < 500 ? 20 : later;
    hand.sample(thread, i * 37 % 100 < in_b ? b : a, 1, i * 0.02);
  }
  return std::move(hand.profile);
}

UnionTree tree_of(const model::Profile& profile, std::size_t pieces) {
  UnionRun run;
  run.profile = &profile;
  run.options.selection.metric = model::Metric::kCpu;
  for (std::uint64_t i = 1; i < pieces; ++i) run.cuts.push_back(20'000'000'000 / pieces * i);
  return build_union_tree({run});
}

TEST(RunSpread, AProgramThatDoesTheSameAllTheTimeHasNoPhases) {
  const model::Profile steady = program(20), phases = program(50);
  EXPECT_FALSE(has_phases(tree_of(steady, 20), 0, 20, 1));
  EXPECT_TRUE(has_phases(tree_of(phases, 20), 0, 20, 1));
  EXPECT_FALSE(has_phases(tree_of(phases, 20), 0, 20, 200))
      << "samples that count for so many differ by chance";
}

TEST(RunSpread, ARunOfOnePieceIsAssumedToHavePhases) {
  const model::Profile steady = program(20);
  EXPECT_TRUE(has_phases(tree_of(steady, 1), 0, 1, 1));
}

TEST(RunSpread, PhasesOtherProgramsAndWaitsForACpuAddToTheAssumedSpread) {
  model::Profile profile = program(20);
  const auto assumed = [&](bool phases) {
    RunScale scale;
    assume_spread(scale, profile, phases);
    return scale;
  };
  EXPECT_DOUBLE_EQ(assumed(false).own_spread, kRunToRun);
  EXPECT_DOUBLE_EQ(assumed(false).kernel_spread, kRunToRunOfKernel);
  EXPECT_EQ(assumed(false).least_spread, 0);
  EXPECT_DOUBLE_EQ(assumed(true).own_spread, kRunToRunOfPhases);
  EXPECT_DOUBLE_EQ(assumed(true).least_spread, kLeastSpreadOfPhases);
  profile.meta.facts["others_percent"] = "50.0";
  EXPECT_DOUBLE_EQ(assumed(false).own_spread, kRunToRun) << "its pieces show what others do to it";
  EXPECT_GT(assumed(true).own_spread, kRunToRunOfPhases);
  profile.meta.facts["cpu_wait_ms"] = "1000";
  profile.quality.expected_samples = 1.0 * profile.meta.frequency_hz;  // per second, so half of the time was
                                                                       // waiting
  EXPECT_GE(assumed(false).own_spread, kSpreadOfShares / 2);
  EXPECT_GE(assumed(false).kernel_spread, kSpreadOfKernel / 2);
  profile.meta.facts["cpu_wait_ms"] = "60000";
  EXPECT_LE(assumed(true).kernel_spread, kMostSpreadOfKernel) << "what others did does not hide every factor";
}

TEST(RunSpread, KernelTimeCountsForAllOfItsCallers) {
  const model::Profile profile = program(20);
  const UnionTree tree = tree_of(profile, 20);
  const std::vector<double> parts = kernel_parts(tree);
  ASSERT_EQ(parts.size(), tree.places.size() + 1);
  for (std::size_t place = 0; place < tree.places.size(); ++place) {
    const std::string& name = tree.names[tree.places[place].name];
    if (tree.places[place].kind == NodeKind::kThread) continue;
    const double part = name == "main" ? 0.2 : name == "a" ? 0 : 1;
    EXPECT_DOUBLE_EQ(parts[place], part) << name;
  }
  EXPECT_DOUBLE_EQ(parts.back(), 0.2);
}

}  // namespace
}  // namespace fathom::analysis
