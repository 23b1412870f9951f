#include "analysis/core/functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

struct Recursion {
  HandMade hand;
  CallTree tree;
  // main calls f, which calls itself twice, then g; 10 samples in g, 5 in the second f, 1 in main
  Recursion() {
    const auto app = hand.module("app");
    const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
    const auto main = hand.frame(app, {"main"});
    const auto f = hand.frame(app, {"f"});
    const auto g = hand.frame(app, {"g"});
    hand.sample(thread, hand.stack({main, f, f, g}), 10);
    hand.sample(thread, hand.stack({main, f, f}), 5);
    hand.sample(thread, hand.stack({main}), 1);
    tree = build_call_tree(hand.profile, {});
  }
  const FunctionRow* row(const std::vector<FunctionRow>& rows, const std::string& name) const {
    for (const FunctionRow& row : rows) {
      if (tree.names[row.name] == name) return &row;
    }
    return nullptr;
  }
};

TEST(Functions, ARecursiveFunctionsTotalCountsEachSampleOnce) {
  const Recursion recursion;
  const std::vector<FunctionRow> rows = function_table(recursion.tree, SortBy::kTotal);
  EXPECT_EQ(recursion.row(rows, "f")->total, 15);
  EXPECT_EQ(recursion.row(rows, "f")->self, 5);
  EXPECT_EQ(recursion.row(rows, "main")->total, 16);
  EXPECT_EQ(rows.size(), 3u) << "threads are no functions";
}

TEST(Functions, AreOrderedBySelfOrTotal) {
  const Recursion recursion;
  EXPECT_EQ(recursion.tree.names[function_table(recursion.tree, SortBy::kSelf)[0].name], "g");
  EXPECT_EQ(recursion.tree.names[function_table(recursion.tree, SortBy::kTotal)[0].name], "main");
}

TEST(Functions, SelfOfAllAddsUpToTheTotal) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    const CallTree tree = build_call_tree(profile, {.thread_roots = false});
    std::int64_t self = tree.nodes[0].self;  // samples without a stack
    for (const FunctionRow& row : function_table(tree, SortBy::kSelf)) {
      self += row.self;
      EXPECT_LE(row.self, row.total) << "seed " << seed;
      EXPECT_LE(row.total, tree.total) << "seed " << seed;
    }
    EXPECT_EQ(self, tree.total) << "seed " << seed;
  }
}

TEST(Functions, FewSamplesAreNoise) {
  CallTree tree;
  tree.total = 10'000;
  tree.effective_samples = 10'000;
  EXPECT_TRUE(is_noise(tree, 3));
  EXPECT_FALSE(is_noise(tree, 100));
}

TEST(Neighbours, UnderRecursionCallersAreOutermostAndCalleesInnermost) {
  const Recursion recursion;
  const Result<Neighbours> around = find_neighbours(recursion.tree, "f");
  ASSERT_TRUE(around);
  EXPECT_EQ(around->total, 15);
  EXPECT_EQ(around->self, 5);
  ASSERT_EQ(around->callers.size(), 1u);
  EXPECT_EQ(recursion.tree.names[around->callers[0].name], "main");
  EXPECT_EQ(around->callers[0].value, 15);
  ASSERT_EQ(around->callees.size(), 1u);
  EXPECT_EQ(recursion.tree.names[around->callees[0].name], "g");
  EXPECT_EQ(around->callees[0].value, 10);
}

TEST(Neighbours, BothSidesAddUpToTheTotalInAnyProfile) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    const CallTree tree = build_call_tree(profile, {});
    for (const FunctionRow& row : function_table(tree, SortBy::kSelf)) {
      const Result<Neighbours> around = find_neighbours(tree, tree.names[row.name]);
      ASSERT_TRUE(around) << "seed " << seed;
      std::int64_t callers = 0;
      std::int64_t callees = around->self;
      for (const NeighbourRow& caller : around->callers) callers += caller.value;
      for (const NeighbourRow& callee : around->callees) callees += callee.value;
      ASSERT_EQ(callers, around->total) << "seed " << seed;
      ASSERT_EQ(callees, around->total) << "seed " << seed;
      ASSERT_GE(around->total, row.total) << "seed " << seed;
    }
  }
}

TEST(Neighbours, APartOfOneNameIsEnough) {
  const model::Profile profile = small_server();
  const CallTree tree = build_call_tree(profile, {});
  const Result<Neighbours> around = find_neighbours(tree, "request::parse");
  ASSERT_TRUE(around);
  EXPECT_THAT(around->matched, testing::ElementsAre("server::request::parse"));
}

TEST(Neighbours, APartOfSeveralNamesListsThem) {
  const model::Profile profile = small_server();
  const Result<Neighbours> around = find_neighbours(build_call_tree(profile, {}), "server::");
  ASSERT_FALSE(around);
  EXPECT_EQ(around.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(around.error().message, testing::HasSubstr("fits 4 functions"));
  EXPECT_THAT(around.error().message, testing::HasSubstr("'server::request::parse'"));
  EXPECT_EQ(around.error().message.find('\n'), std::string::npos);
}

TEST(Neighbours, AnExpressionTakesAllItsMatchesAsOne) {
  const model::Profile profile = small_server();
  const Result<Neighbours> around = find_neighbours(build_call_tree(profile, {}), "/write$/");
  ASSERT_TRUE(around);
  EXPECT_THAT(around->matched, testing::ElementsAre("ksys_write", "write"));
  EXPECT_EQ(around->total, 100);
  EXPECT_EQ(around->self, 100);
}

TEST(Neighbours, WhatIsNotThereOrNoExpressionIsAnError) {
  const model::Profile profile = small_server();
  const CallTree tree = build_call_tree(profile, {});
  EXPECT_EQ(find_neighbours(tree, "nowhere").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(find_neighbours(tree, "").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(find_neighbours(tree, "/(/").error().kind, ErrorKind::kUsage);
  EXPECT_EQ(find_neighbours(tree, "worker-1").error().kind, ErrorKind::kNotFound)
      << "a thread is no function";
}

}  // namespace
}  // namespace fathom::analysis
