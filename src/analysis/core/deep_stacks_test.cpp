#include "analysis/core/deep_stacks.h"

#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

TEST(DeepStacks, TheDeepestAndTheUsualAreOfCallsAndNotOfThreads) {
  HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto main = hand.frame(app, {"main"}), f = hand.frame(app, {"f"}), g = hand.frame(app, {"g"});
  hand.sample(thread, hand.stack({main, f}), 6);
  hand.sample(thread, hand.stack({main, f, g}), 3);
  const CallTree tree = build_call_tree(hand.profile, {});
  const DeepStacks found = find_deep_stacks(tree);
  EXPECT_EQ(found.deepest, 3);
  EXPECT_EQ(tree.name(tree.nodes[found.deepest_node]), "g");
  EXPECT_EQ(found.usual, 2);
  EXPECT_EQ(found.recursive_node, 0);
}

TEST(DeepStacks, WhatCallsItselfCountsOnceHoweverOften) {
  HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto main = hand.frame(app, {"main"}), f = hand.frame(app, {"f"}), g = hand.frame(app, {"g"});
  hand.sample(thread, hand.stack({main, f}), 5);
  hand.sample(thread, hand.stack({main, f, g, f}), 2);
  hand.sample(thread, hand.stack({main, f, g, f, g, f}), 1);
  hand.sample(thread, hand.stack({main, g}), 4);
  const CallTree tree = build_call_tree(hand.profile, {});
  const DeepStacks found = find_deep_stacks(tree);
  EXPECT_EQ(tree.name(tree.nodes[found.recursive_node]), "f");
  EXPECT_EQ(found.recursive, 3);
  EXPECT_EQ(found.most_times, 3);
  EXPECT_EQ(found.deepest, 6);
}

TEST(DeepStacks, WhatWasInlinedIntoItsOwnNameDoesNotCallItself) {
  HandMade hand;
  const auto libc = hand.module("libc.so.6");
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  hand.sample(thread, hand.stack({hand.frame(libc, {"read", "read"})}), 5);
  const DeepStacks found = find_deep_stacks(build_call_tree(hand.profile, {}));
  EXPECT_EQ(found.recursive_node, 0);
  EXPECT_EQ(found.deepest, 2);
}

TEST(DeepStacks, OfNothingThereIsNothing) {
  HandMade hand;
  const DeepStacks found = find_deep_stacks(build_call_tree(hand.profile, {}));
  EXPECT_EQ(found.deepest, 0);
  EXPECT_EQ(found.recursive, 0);
}

}  // namespace
}  // namespace fathom::analysis
