#include "analysis/core/call_tree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "analysis/core/hand_made_profile.h"
#include "analysis/core/waits.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

// "name self/total" per line, indented by depth.
std::string drawn(const CallTree& tree) {
  std::string text;
  for (const TreeNode& node : tree.nodes) {
    text +=
        fmt::format("{}{} {}/{}\n", std::string(node.depth * 2, ' '), tree.name(node), node.self, node.total);
  }
  return text;
}

const TreeNode* find(const CallTree& tree, const std::string& name) {
  for (const TreeNode& node : tree.nodes) {
    if (tree.name(node) == name) return &node;
  }
  return nullptr;
}

TEST(CallTree, MergesStacksFromTheRootUnderTheirThread) {
  HandMade hand;
  const auto app = hand.module("app");
  const auto process = hand.process(1, "app");
  const auto one = hand.thread(process, 1, "worker");
  const auto two = hand.thread(process, 2, "worker");
  const auto main = hand.frame(app, {"main"});
  const auto f = hand.frame(app, {"f"});
  const auto g = hand.frame(app, {"g"});
  hand.sample(one, hand.stack({main, g}), 3);
  hand.sample(two, hand.stack({main, f}), 2);
  hand.sample(two, hand.stack({main}), 1);
  EXPECT_EQ(drawn(build_call_tree(hand.profile, {})),
            "all 0/6\n"
            "  worker 0/6\n"
            "    main 1/6\n"
            "      f 2/2\n"
            "      g 3/3\n");
}

TEST(CallTree, AnInlinedCallIsAFrameOfItsOwn) {
  HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  hand.sample(thread, hand.stack({hand.frame(app, {"inner", "middle", "outer"})}), 1);
  const CallTree tree = build_call_tree(hand.profile, {.thread_roots = false});
  EXPECT_EQ(drawn(tree), "all 0/1\n  outer 0/1\n    middle 0/1\n      inner 1/1\n");
  EXPECT_EQ(find(tree, "outer")->kind, NodeKind::kUser);
  EXPECT_EQ(find(tree, "middle")->kind, NodeKind::kInlined);
  EXPECT_EQ(find(tree, "inner")->kind, NodeKind::kInlined);
}

TEST(CallTree, ACallThatIsInlinedHereAndCalledThereIsAnOrdinaryFunction) {
  HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  hand.sample(thread, hand.stack({hand.frame(app, {"f", "main"})}), 1);
  hand.sample(thread, hand.stack({hand.frame(app, {"main"}), hand.frame(app, {"f"})}), 1);
  EXPECT_EQ(find(build_call_tree(hand.profile, {}), "f")->kind, NodeKind::kUser);
}

TEST(CallTree, KindsComeFromTheModule) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto kernel = hand.module("[kernel]", model::ModuleKind::kKernel);
  const auto cause = hand.module(std::string(kCauseModule), model::ModuleKind::kNames);
  hand.sample(
      thread,
      hand.stack({hand.unnamed({0}, 0x77), hand.frame(kernel, {"sys_futex"}), hand.frame(cause, {"lock"})}),
      1);
  const CallTree tree = build_call_tree(hand.profile, {});
  EXPECT_EQ(find(tree, "sys_futex")->kind, NodeKind::kKernel);
  EXPECT_EQ(find(tree, "lock")->kind, NodeKind::kCause);
  EXPECT_EQ(find(tree, "app")->kind, NodeKind::kThread);
  const bool has_other = std::any_of(tree.nodes.begin(), tree.nodes.end(),
                                     [](const TreeNode& node) { return node.kind == NodeKind::kOther; });
  EXPECT_TRUE(has_other);
}

TEST(CallTree, FunctionsOfOneNameInTwoModulesStayTwo) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  hand.sample(thread, hand.stack({hand.frame(hand.module("a.so"), {"init"})}), 1);
  hand.sample(thread, hand.stack({hand.frame(hand.module("b.so"), {"init"})}), 2);
  EXPECT_EQ(drawn(build_call_tree(hand.profile, {.thread_roots = false})),
            "all 0/3\n  init 1/1\n  init 2/2\n");
}

TEST(CallTree, ReversedItStartsWithTheLeaf) {
  HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto f = hand.frame(app, {"f"});
  hand.sample(thread, hand.stack({hand.frame(app, {"a"}), f}), 1);
  hand.sample(thread, hand.stack({hand.frame(app, {"in", "b"}), f}), 2);
  EXPECT_EQ(drawn(build_call_tree(hand.profile, {.thread_roots = false, .reverse = true})),
            "all 0/3\n  f 0/3\n    a 1/1\n    in 0/2\n      b 2/2\n");
}

TEST(CallTree, FoldedGenericsMergeFunctionsThatDifferOnlyInThem) {
  HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  hand.sample(thread, hand.stack({hand.frame(app, {"Vec<u8>::push"})}), 1);
  hand.sample(thread, hand.stack({hand.frame(app, {"Vec<u16>::push"})}), 2);
  EXPECT_EQ(drawn(build_call_tree(hand.profile, {.thread_roots = false, .fold_generics = true})),
            "all 0/3\n  Vec<..>::push 3/3\n");
}

TEST(CallTree, SelectionTakesThreadProcessAndTimeAndCountsTheRest) {
  const model::Profile profile = small_server();
  const auto taken = [&](Selection selection) {
    const CallTree tree = build_call_tree(profile, {.selection = std::move(selection)});
    EXPECT_EQ(tree.samples + tree.filtered, 900u);
    return tree.total;
  };
  EXPECT_EQ(taken({}), 900);
  EXPECT_EQ(taken({.thread = "worker-1"}), 200);
  EXPECT_EQ(taken({.thread = "11"}), 200);
  EXPECT_EQ(taken({.thread = "nobody"}), 0);
  EXPECT_EQ(taken({.pid = 10}), 900);
  EXPECT_EQ(taken({.pid = 11}), 0);
  EXPECT_EQ(taken({.from_ns = 3'000'000'000}), 600);
  EXPECT_EQ(taken({.from_ns = 3'000'000'000, .to_ns = 3'100'000'000}), 10);
  EXPECT_EQ(taken({.from_ns = UINT64_MAX}), 0);
}

TEST(CallTree, AProfileWithoutSamplesGivesTheRootAlone) {
  const CallTree tree = build_call_tree(model::Profile(), {});
  EXPECT_EQ(drawn(tree), "all 0/0\n");
  EXPECT_EQ(tree.modules.size(), 1u);
}

TEST(CallTree, WeightedSamplesCountForAsManyAsTheyAreWorth) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto stack = hand.stack({hand.frame(hand.module("app"), {"f"})});
  hand.sample(thread, stack, 99, 0, model::Metric::kOffCpu, 1);
  hand.sample(thread, stack, 1, 1, model::Metric::kOffCpu, 1'000'000);
  const CallTree tree = build_call_tree(hand.profile, {.selection = {.metric = model::Metric::kOffCpu}});
  EXPECT_NEAR(tree.effective_samples, 1, 0.01);  // one long wait decides everything
}

// What must hold for every tree.
void expect_sound(const CallTree& tree, std::int64_t expected_total) {
  std::int64_t self = 0;
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    self += node.self;
    std::int64_t below = node.self;
    const TreeNode* previous = nullptr;
    for (std::uint32_t at = tree.first_child(i); at != kNoNode; at = tree.nodes[at].next_sibling) {
      const TreeNode& child = tree.nodes[at];
      ASSERT_GT(at, i);
      ASSERT_EQ(child.parent, i);
      ASSERT_EQ(child.depth, node.depth + 1);
      if (previous != nullptr) {
        ASSERT_LE(std::tie(previous->name, previous->module), std::tie(child.name, child.module));
      }
      below += child.total;
      previous = &child;
    }
    ASSERT_EQ(below, node.total);
  }
  EXPECT_EQ(self, tree.total);
  EXPECT_EQ(tree.total, expected_total);
  EXPECT_TRUE(std::is_sorted(tree.names.begin(), tree.names.end()));
}

std::int64_t expected_total(const model::Profile& profile, model::Metric metric) {
  const bool wall = metric == model::Metric::kWall;
  const double period = sample_period_ns(profile);
  ValueBudget budget;
  std::int64_t total = 0;
  for (const model::Sample& sample : profile.samples) {
    const bool counts =
        sample.metric == metric ||
        (wall && (sample.metric == model::Metric::kCpu || sample.metric == model::Metric::kOffCpu));
    if (counts && (!wall || period != 0)) total += budget.take(value_of(sample, metric, period));
  }
  if (!wall && metric != model::Metric::kOffCpu) return total;
  const Waits waits(profile, {.metric = metric});
  for (const SelectedWait& row : waits.rows()) {
    total += budget.take(weighted_ns(row.waited_ns, waits.weight(row)));
    total += budget.take(weighted_ns(row.queued_ns, waits.queue_weight(row)));
  }
  return total;
}

TEST(CallTree, SelfAddsUpToTotalAndNothingVanishesInAnyProfile) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const model::Profile profile = model::random_profile(seed);
    for (const model::Metric metric : metrics_in(profile)) {
      if (model::is_heap(metric)) continue;  // heap_test.cpp
      const std::int64_t total = expected_total(profile, metric);
      for (const bool reverse : {false, true}) {
        for (const bool roots : {false, true}) {
          expect_sound(
              build_call_tree(profile,
                              {.selection = {.metric = metric}, .thread_roots = roots, .reverse = reverse}),
              total);
        }
      }
    }
    if (HasFailure()) return;
  }
}

TEST(CallTree, TheOrderOfTheSamplesDoesNotMatter) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    model::Profile profile = model::random_profile(seed);
    const CallTree before = build_call_tree(
        profile, {.selection = {.metric = metrics_in(profile).empty() ? model::Metric::kCpu
                                                                      : metrics_in(profile)[0]}});
    std::mt19937_64 random(seed);
    std::shuffle(profile.samples.begin(), profile.samples.end(), random);
    const CallTree after = build_call_tree(profile, {.selection = {.metric = before.metric}});
    EXPECT_EQ(drawn(before), drawn(after)) << "seed " << seed;
    EXPECT_EQ(before.nodes, after.nodes) << "seed " << seed;
  }
}

// A wait of 40 ms for a lock, 10 ms in the run queue after it, and an idle worker.
struct WaitingTree : HandMade {
  WaitingTree() {
    const auto app = module("app"), libc = module("libc.so.6"),
               kernel = module("[kernel]", model::ModuleKind::kKernel);
    const auto process = HandMade::process(10, "app");
    const auto main = thread(process, 10, "main"), worker = thread(process, 11, "worker");
    const auto system = frame(kernel, {"entry_SYSCALL_64"}), futex = frame(kernel, {"futex_wait"});
    const auto locking = stack({frame(app, {"main"}), frame(libc, {"pthread_mutex_lock"}), system, futex});
    const auto parked =
        stack({frame(app, {"tokio::runtime::scheduler::multi_thread::worker::Context::park"}), system});
    wait(main, locking, "futex", 1, 40, 10);
    wait(worker, parked, "futex", 1, 1000, 5);
    wait(worker, parked, "futex", 3, 500);
  }
  CallTree off_cpu(TreeOptions options) const {
    options.selection.metric = model::Metric::kOffCpu;
    return build_call_tree(profile, options);
  }
};
bool has_node(const CallTree& tree, std::string_view name) {
  return std::any_of(tree.nodes.begin(), tree.nodes.end(),
                     [&](const TreeNode& node) { return tree.name(node) == name; });
}

TEST(CallTree, LeavesIdleWaitsOutAndCountsThem) {
  const CallTree tree = WaitingTree().off_cpu({.drop_idle = true});
  EXPECT_EQ(tree.idle_ns, 1'500'000'000);
  EXPECT_EQ(tree.idle_threads, 1u);
  EXPECT_EQ(tree.total, 55'000'000) << "the time in the run queue is never idle";
  EXPECT_EQ(WaitingTree().off_cpu({}).total, 1'555'000'000);
}

TEST(CallTree, LeavesTheKernelsSideOfAWaitToItsCause) {
  const CallTree tree = WaitingTree().off_cpu({.fold_kernel = true});
  EXPECT_FALSE(has_node(tree, "futex_wait"));
  EXPECT_TRUE(has_node(tree, "pthread_mutex_lock"));
  EXPECT_TRUE(has_node(tree, "[wait: futex]"));
  EXPECT_EQ(tree.total, WaitingTree().off_cpu({}).total);
  EXPECT_TRUE(has_node(WaitingTree().off_cpu({}), "futex_wait"));
}

TEST(CallTree, FoldsRecursionWhereThatIsAskedFor) {
  HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto walk = hand.frame(app, {"walk"}), leaf = hand.frame(app, {"leaf"});
  hand.sample(thread, hand.stack({walk, walk, walk, leaf}), 3);
  hand.sample(thread, hand.stack({walk, walk}), 2);
  const CallTree tree = build_call_tree(hand.profile, {.fold_recursion = true});
  ASSERT_EQ(tree.nodes.size(), 4u);  // all, the thread, walk, leaf
  EXPECT_EQ(tree.name(tree.nodes[2]), "walk");
  EXPECT_EQ(tree.nodes[2].self, 2);
  EXPECT_EQ(tree.nodes[2].total, 5);
}

}  // namespace
}  // namespace fathom::analysis
