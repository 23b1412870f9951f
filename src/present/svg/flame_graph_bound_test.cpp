#include "present/svg/flame_graph_bound.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "present/svg/flame_graph.h"
#include "present/svg/flame_graph_testing.h"

namespace fathom::present {
namespace {

using analysis::CallTree;
using analysis::TreeNode;

// As every tree is: depth first, sums, names in order.
void expect_sound(const CallTree& tree) {
  std::vector<std::int64_t> sums(tree.nodes.size());
  for (std::size_t i = tree.nodes.size(); i-- > 0;) {
    const TreeNode& node = tree.nodes[i];
    EXPECT_EQ(sums[i] + node.self, node.total) << i;
    if (i == 0) break;
    EXPECT_LT(node.parent, i);
    EXPECT_EQ(node.depth, tree.nodes[node.parent].depth + 1);
    EXPECT_TRUE(tree.nodes[i - 1].depth + 1 >= node.depth);
    sums[node.parent] += node.total;
  }
  EXPECT_TRUE(std::is_sorted(tree.names.begin(), tree.names.end()));
}

// main calls `wide` and so many functions of a sample each, which call one more.
model::Profile crowded(int narrow) {
  analysis::HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
  const auto main = hand.frame(app, {"main"});
  hand.sample(thread, hand.stack({main, hand.frame(app, {"wide"})}), narrow);
  for (int i = 0; i < narrow; ++i)
    hand.sample(thread,
                hand.stack({main, hand.frame(app, {fmt::format("narrow_function_{:07}", i * 7919 % narrow)}),
                            hand.frame(app, {fmt::format("leaf_{:07}", i)})}),
                1);
  return std::move(hand.profile);
}

TEST(BoundTree, KeepsSumsAndCountsWhatIsLeftOut) {
  const CallTree tree = analysis::build_call_tree(crowded(100), {});
  const BoundTree bound = keep_largest(tree, 10);
  expect_sound(bound.tree);
  EXPECT_EQ(bound.tree.total, tree.total);
  EXPECT_EQ(bound.frames, 200u);
  EXPECT_EQ(bound.value, 100);
  EXPECT_EQ(bound.largest, 1);
  EXPECT_THAT(bound.tree.names, testing::IsSupersetOf({"(narrow frames, left out)", "main", "wide"}));
  EXPECT_LE(bound.tree.nodes.size(), 11u);
}

// Whatever a tree says of itself, also what is added later.
TEST(BoundTree, SaysOfItselfWhatTheWholeTreeSays) {
  CallTree tree = analysis::build_call_tree(crowded(20), {});
  std::int64_t value = 1;
  for (std::int64_t* number : {&tree.shrunk, &tree.idle_ns, &tree.queue_ns, &tree.tracer}) *number = ++value;
  for (std::uint64_t* number : {&tree.samples, &tree.waits, &tree.idle_threads, &tree.filtered})
    *number = static_cast<std::uint64_t>(++value);
  tree.effective_samples = 77;
  tree.metric = model::Metric::kWall;
  CallTree bound = keep_largest(tree, 5).tree;
  EXPECT_LT(bound.nodes.size(), tree.nodes.size());
  bound.nodes = tree.nodes;
  bound.names = tree.names;
  EXPECT_EQ(bound, tree);
}

TEST(BoundTree, IsTheTreeItselfWhereAllOfItIsKept) {
  const CallTree tree = analysis::build_call_tree(crowded(10), {});
  const BoundTree bound = keep_largest(tree, tree.nodes.size());
  EXPECT_EQ(bound.tree.nodes, tree.nodes);
  EXPECT_EQ(bound.frames, 0u);
}

TEST(BoundTree, IsSoundAtEveryLimit) {
  const CallTree tree = analysis::build_call_tree(crowded(30), {});
  for (std::size_t most = 0; most <= tree.nodes.size(); ++most) {
    const BoundTree bound = keep_largest(tree, most);
    expect_sound(bound.tree);
    EXPECT_LE(bound.tree.nodes.size(), 2 * most + 2);
  }
}

TEST(FlameGraph, OfVeryManyStacksIsNoLargerThanItMayBeAndSaysWhatIsLeftOut) {
  const CallTree tree = analysis::build_call_tree(crowded(6000), {});
  FlameGraphOptions options;
  const std::string whole = flame_graph_svg(tree, options);
  EXPECT_THAT(whole, testing::Not(testing::HasSubstr("Left out")));
  options.max_bytes = 100'000;
  ASSERT_GT(whole.size(), options.max_bytes);
  const std::string svg = flame_graph_svg(tree, options);
  EXPECT_LE(svg.size(), options.max_bytes);
  EXPECT_EQ(xml_mistake(svg), std::nullopt);
  EXPECT_THAT(
      svg,
      testing::HasSubstr(
          "To keep this file below 97.7 KiB, 12,000 frames are left out, each 1 sample or less; they hold 50.0 % of the total."));
  EXPECT_THAT(svg, testing::HasSubstr("wide"));
}

TEST(FlameGraph, OfAComparisonKeepsBothSidesOfWhatIsLeftOut) {
  const CallTree tree = analysis::build_call_tree(crowded(6000), {});
  FlameGraphOptions options;
  options.max_bytes = 100'000;
  options.comparison.emplace();
  options.comparison->unit = "samples";
  for (const TreeNode& node : tree.nodes) {
    options.comparison->base.push_back(node.self);
    options.comparison->fresh.push_back(2 * node.self);
  }
  const std::string svg = flame_graph_svg(tree, options);
  EXPECT_LE(svg.size(), options.max_bytes);
  EXPECT_THAT(svg,
              testing::HasSubstr("(narrow frames, left out) (base 6,000 samples, new 12,000 samples: +100"));
}

}  // namespace
}  // namespace fathom::present
