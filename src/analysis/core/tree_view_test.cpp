#include "analysis/core/tree_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "analysis/core/functions.h"
#include "analysis/core/hand_made_profile.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

using testing::ElementsAre;

// Rows as text: depth, kind where it is no call, name or count, total, and how deep a recursion is.
std::vector<std::string> written(const CallTree& tree, const MergedCalls& calls,
                                 const TreeRowOptions& options) {
  std::vector<std::string> lines;
  for (const TreeRow& row : tree_rows(calls, options)) {
    const MergedCalls::Node& node = calls.nodes()[row.node];
    std::string line(row.depth, ' ');
    if (row.kind == TreeRowKind::kChain) line += "chain of " + std::to_string(row.count);
    if (row.kind == TreeRowKind::kRest) line += "rest of " + std::to_string(row.count);
    if (row.kind == TreeRowKind::kCall) line += tree.names[node.name];
    line += " " + std::to_string(row.total);
    if (row.kind == TreeRowKind::kCall && node.deep > 1) line += " deep " + std::to_string(node.deep);
    lines.push_back(line);
  }
  return lines;
}

struct Program : HandMade {
  model::ModuleId app = module("app");
  model::ThreadId main_thread = thread(process(10, "app"), 10, "app");
  std::map<std::string, model::FrameId> frames;

  void run(const std::vector<std::string>& names, int samples) {
    std::vector<model::FrameId> path;
    for (const std::string& name : names) {
      if (!frames.contains(name)) frames[name] = frame(app, {name});
      path.push_back(frames[name]);
    }
    sample(main_thread, stack(path), samples);
  }
  CallTree tree() const { return build_call_tree(profile, {}); }
};

TEST(TreeView, LargestCallsFirstAndSmallOnesAsOne) {
  Program program;
  program.run({"main", "small"}, 30);
  program.run({"main", "large"}, 60);
  program.run({"main", "tiny"}, 4);
  program.run({"main", "dust"}, 6);
  const CallTree tree = program.tree();
  EXPECT_THAT(written(tree, MergedCalls::of(tree, true), {.least = 10}),
              ElementsAre("main 100", " large 60", " small 30", " rest of 2 10"));
}

// A long stack with a sample in each part: a few bytes encode it, half a million frames from the leaf up.
TEST(TreeView, CallersWithoutEndAreAnErrorAndNoOutage) {
  Program program;
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) {
    names.push_back("f" + std::to_string(i));
    program.run(names, 1);
  }
  const CallTree tree = program.tree();
  EXPECT_EQ(MergedCalls::bottom_up(tree, true).nodes().size(), 1 + 1000 * 1001 / 2);
  EXPECT_THROW(MergedCalls::bottom_up(tree, true, {.nodes = 100'000}), std::length_error);
  EXPECT_THROW(MergedCalls::bottom_up(tree, true, {.steps = 100'000}), std::length_error);
  std::vector<char> all(tree.names.size(), 0);
  all.back() = 1;
  EXPECT_NO_THROW(MergedCalls::callers(tree, all, true, {.steps = 100'000}));
  EXPECT_THROW(MergedCalls::callers(tree, all, true, {.steps = 500}), std::length_error);
}

TEST(TreeView, ACallThatOnlyHandsOnIsFoldedIntoItsChain) {
  Program program;
  program.run({"_start", "libc_start", "main", "a", "b", "c", "leaf"}, 90);
  program.run({"_start", "libc_start", "main", "other", "x"}, 10);
  const CallTree tree = program.tree();
  const auto rows = [&](bool fold) {
    return written(tree, MergedCalls::of(tree, true), {.least = 10, .fold = fold});
  };
  EXPECT_THAT(rows(true), ElementsAre("chain of 2 100", " main 100", "  a 90", "   chain of 2 90",
                                      "    leaf 90", "  other 10", "   x 10"));
  EXPECT_THAT(rows(false), testing::SizeIs(9));
}

TEST(TreeView, OwnCodeStaysWhereAChainIsFolded) {
  Program program;
  program.run({"main", "lib1", "lib2", "serve", "lib3", "lib4", "leaf"}, 10);
  const CallTree tree = program.tree();
  TreeRowOptions options;
  options.is_own = [&](std::uint32_t name, std::uint32_t) { return tree.names[name] == "serve"; };
  EXPECT_THAT(written(tree, MergedCalls::of(tree, true), options),
              ElementsAre("chain of 3 10", " serve 10", "  chain of 2 10", "   leaf 10"));
}

TEST(TreeView, AFunctionThatCallsItselfIsOneNode) {
  Program program;
  program.run({"main", "fib", "fib", "fib", "add"}, 30);
  program.run({"main", "fib", "add"}, 10);
  program.run({"main", "fib", "fib"}, 5);
  const CallTree tree = program.tree();
  EXPECT_THAT(written(tree, MergedCalls::of(tree, true), {}),
              ElementsAre("main 45", " fib 45 deep 3", "  add 40"));
  EXPECT_THAT(written(tree, MergedCalls::of(tree, false), {}), testing::SizeIs(6));
}

TEST(TreeView, WhatCostsStaysThoughItsCallersAreFolded) {
  Program program;
  program.run({"_start", "main", "write", "sys_write"}, 10);
  const CallTree tree = program.tree();
  EXPECT_THAT(written(tree, MergedCalls::bottom_up(tree, true), {.from_start = false}),
              ElementsAre("sys_write 10", " chain of 2 10", "  _start 10"));
}

TEST(TreeView, BottomUpBeginsWithWhatCostsByItself) {
  Program program;
  program.run({"main", "parse", "malloc"}, 30);
  program.run({"main", "render", "malloc"}, 20);
  program.run({"main", "render"}, 25);
  const CallTree tree = program.tree();
  EXPECT_THAT(
      written(tree, MergedCalls::bottom_up(tree, true), {}),
      ElementsAre("malloc 50", " parse 30", "  main 30", " render 20", "  main 20", "render 25", " main 25"));
}

TEST(TreeView, CallersAreWholeChainsOfTheOutermostCall) {
  Program program;
  program.run({"main", "serve", "walk", "walk", "leaf"}, 30);
  program.run({"main", "check", "walk"}, 10);
  program.run({"main", "serve"}, 60);
  const CallTree tree = program.tree();
  const auto names = matching_names(tree, "walk").value();
  const MergedCalls callers = MergedCalls::callers(tree, names, true);
  EXPECT_EQ(callers.nodes()[0].total, 40);
  EXPECT_THAT(written(tree, callers, {}), ElementsAre("serve 30", " main 30", "check 10", " main 10"));
  const MergedCalls callees = MergedCalls::callees(tree, names, true);
  EXPECT_THAT(written(tree, callees, {}), ElementsAre("walk 30", " leaf 30"));
}

// What is shown adds up: a call's rows and itself are its total, less what is too small for a row.
TEST(TreeView, NothingIsCountedTwiceInAnyProfile) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    const CallTree tree = build_call_tree(profile, {});
    for (const bool fold : {false, true}) {
      for (const MergedCalls& calls : {MergedCalls::of(tree, fold), MergedCalls::bottom_up(tree, fold)}) {
        std::int64_t self = 0;
        for (const MergedCalls::Node& node : calls.nodes()) self += node.self;
        EXPECT_EQ(calls.nodes()[0].total, tree.total) << seed;
        std::vector<std::int64_t> below(calls.nodes().size());
        for (std::size_t i = 1; i < calls.nodes().size(); ++i)
          below[calls.nodes()[i].parent] += calls.nodes()[i].total;
        for (std::size_t i = 0; i < calls.nodes().size(); ++i) {
          const MergedCalls::Node& node = calls.nodes()[i];
          if (self != 0) {
            EXPECT_EQ(node.total, node.self + below[i]) << seed;
          }
        }
        for (const TreeRow& row : tree_rows(calls, {.least = 2})) EXPECT_GE(row.total, 2) << seed;
      }
    }
  }
}

}  // namespace
}  // namespace fathom::analysis
