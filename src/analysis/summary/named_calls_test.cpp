#include "analysis/summary/named_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

// Stacks of a dozen functions, some of which are rare; "u" has no name. Functions are numbered by their names.
struct RandomTree {
  CallTree tree;
  std::vector<std::uint32_t> function_of;
  std::vector<std::uint8_t> class_of;

  explicit RandomTree(unsigned seed) {
    std::mt19937 random(seed);
    HandMade hand;
    const auto app = hand.module("app");
    const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
    std::vector<model::FrameId> frames;
    for (char name = 'a'; name <= 'l'; ++name) frames.push_back(hand.frame(app, {std::string(1, name)}));
    frames.push_back(hand.frame(app, {"u"}));
    for (unsigned i = 0; i < 40; ++i) {
      std::vector<model::FrameId> chain;
      for (auto depth = random() % 12; depth-- > 0;)
        chain.push_back(random() % 4 == 0 ? frames.back() : frames[std::min(random() % 12, random() % 12)]);
      hand.sample(thread, hand.stack(chain), 1 + static_cast<int>(random() % 50));
    }
    tree = build_call_tree(hand.profile, {});
    for (const TreeNode& node : tree.nodes) {
      const std::string& name = tree.name(node);
      const bool named = name.size() == 1 && name[0] <= 'l';
      function_of.push_back(named ? static_cast<std::uint32_t>(name[0] - 'a') : kNoFunction);
    }
    for (std::uint8_t i = 0; i < 12; ++i) class_of.push_back(i % NamedCalls::kClasses);
  }
  NamedCalls calls() const { return {tree, function_of, class_of}; }
};

// Sums of each kept function in the small tree and in the whole one.
void expect_same(const NamedCalls& some, const NamedCalls& all, const std::vector<char>& kept) {
  const auto compare = [&](const auto& found, const auto& expected, const char* what) {
    for (std::size_t i = 0; i < kept.size(); ++i)
      EXPECT_EQ(found[i], kept[i] != 0 ? expected[i] : 0) << what << " " << i;
  };
  compare(some.selves(), all.selves(), "self");
  for (std::uint32_t from = 0; from < kept.size(); ++from) {
    if (kept[from] == 0) continue;
    compare(some.below(from).total, all.below(from).total, "below");
    compare(some.below(from).depth, all.below(from).depth, "depth");
    EXPECT_EQ(some.below(from).self, all.below(from).self);
    compare(some.callees_of(from), all.callees_of(from), "callee");
    compare(some.callers_of(from), all.callers_of(from), "caller");
  }
  compare(some.below(kNoFunction).total, all.below(kNoFunction).total, "total");
}

TEST(NamedCalls, SumsOfTheKeptFunctionsAreThoseOfTheWholeTree) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const RandomTree random(seed);
    NamedCalls all = random.calls(), some = random.calls();
    const double least = 0.3 * static_cast<double>(random.tree.total);
    all.keep(0);
    some.keep(least);
    std::vector<char> kept;
    for (const std::int64_t total : all.whole()) kept.push_back(static_cast<double>(total) >= least ? 1 : 0);
    EXPECT_EQ(all.below(kNoFunction).total, all.whole());
    expect_same(some, all, kept);
    for (std::uint32_t i = 0; i < kept.size(); i += 3) {
      if (kept[i] == 0) continue;
      all.exclude(i);
      some.exclude(i);
      expect_same(some, all, kept);
      EXPECT_EQ(some.below(kNoFunction).total[i], 0);
    }
    some.include_all();
    all.include_all();
    expect_same(some, all, kept);
    if (HasFailure()) return;
  }
}

// Against sums made by hand: every other test compares a tree with itself.
TEST(NamedCalls, SumsAreThoseOfTheStacks) {
  HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
  const auto a = hand.frame(app, {"a"}), b = hand.frame(app, {"b"}), c = hand.frame(app, {"c"}),
             u = hand.frame(app, {"u"});
  hand.sample(thread, hand.stack({a, u, b, c}), 10);
  hand.sample(thread, hand.stack({a, u, b, u}), 4);
  hand.sample(thread, hand.stack({a, b, a, c}), 2);
  hand.sample(thread, hand.stack({c, u}), 1);
  const CallTree tree = build_call_tree(hand.profile, {});
  std::vector<std::uint32_t> function_of;
  for (const TreeNode& node : tree.nodes) {
    const std::string& name = tree.name(node);
    function_of.push_back(name.size() == 1 && name != "u" ? static_cast<std::uint32_t>(name[0] - 'a')
                                                          : kNoFunction);
  }
  NamedCalls calls(tree, function_of, {0, 1, 0});
  EXPECT_EQ(calls.whole(), (std::vector<std::int64_t>{16, 16, 13}));
  calls.keep(0);
  EXPECT_EQ(calls.selves(), (std::vector<std::int64_t>{0, 4, 13}));
  EXPECT_EQ(calls.below(0).total, (std::vector<std::int64_t>{0, 16, 12}));
  EXPECT_EQ(calls.below(1).self, 4);
  EXPECT_EQ(calls.callers_of(2), (std::vector<std::int64_t>{12, 12, 0}));
  EXPECT_EQ(calls.callees_of(0), (std::vector<std::int64_t>{0, 0, 12})) << "b is of another class";
  calls.exclude(1);
  EXPECT_EQ(calls.below(kNoFunction).total, (std::vector<std::int64_t>{0, 0, 1}));
  EXPECT_EQ(calls.selves(), (std::vector<std::int64_t>{0, 0, 1}));
}

}  // namespace
}  // namespace fathom::analysis
