#include "analysis/core/waits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analysis/core/call_tree.h"
#include "analysis/core/hand_made_profile.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

using model::Metric;

// The tree as folded text: "thread;frame;frame value", in ns.
std::string folded(const CallTree& tree) {
  std::string text;
  std::vector<std::string> path;
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    path.resize(node.depth - 1);
    path.push_back(tree.name(node));
    if (node.self == 0) continue;
    for (std::size_t at = 0; at < path.size(); ++at) text += (at == 0 ? "" : ";") + path[at];
    text += " " + std::to_string(node.self) + "\n";
  }
  return text;
}

struct OneLock : HandMade {
  OneLock() {
    thread = HandMade::thread(process(10, "app"), 10, "app");
    const auto app = module("app");
    main = frame(app, {"main"});
    lock = frame(app, {"lock"});
    loop = frame(app, {"aeApiPoll"});
    futex = object(model::ObjectKind::kFutex, "", 0x1000);
  }
  CallTree tree(const Selection& selection) const {
    return build_call_tree(profile, {.selection = selection});
  }
  model::ThreadId thread;
  model::FrameId main, lock, loop;
  model::WaitObjectId futex;
};

// Ten waits of a second represent a hundred, which would be two seconds: in that second there is room for one.
TEST(Waits, OfAWindowAreNoLongerThanTheWindow) {
  OneLock hand;
  const auto stack = hand.stack({hand.main, hand.lock});
  for (int i = 0; i < 10; ++i) hand.wait(hand.thread, stack, "futex", 0.1 * i, 20, 0, hand.futex).weight = 10;
  hand.wait(hand.thread, stack, "futex", 1, 8000, 0, hand.futex);
  for (int i = 0; i < 10; ++i)
    hand.wait(hand.thread, stack, "futex", 9 + 0.1 * i, 1, 0, hand.futex).weight = 10;
  model::Thread& thread = hand.profile.threads[hand.thread.value];
  thread.waited_ns = 10'100'000'000;  // what the weights say
  thread.waits = 201;
  thread.unwalked_waits = 180;
  for (const auto& [from_s, to_s] : {std::pair(0, 1), {0, 2}, {5, 6}, {0, 9}}) {
    const Waits waits(hand.profile, {.metric = Metric::kOffCpu,
                                     .from_ns = static_cast<std::uint64_t>(from_s) * 1'000'000'000,
                                     .to_ns = static_cast<std::uint64_t>(to_s) * 1'000'000'000});
    WaitSum sum;
    for (const SelectedWait& row : waits.rows()) sum.add(row.waited_ns, waits.weight(row));
    EXPECT_LE(static_cast<double>(sum.total_ns()), (to_s - from_s) * 1e9 + 100) << from_s;
    EXPECT_GE(static_cast<double>(sum.total_ns()), (to_s - from_s) * 0.9e9) << from_s;
  }
}

TEST(OffCpuTree, HasTheCauseAboveTheLeafAndTheRunQueueApart) {
  OneLock hand;
  hand.wait(hand.thread, hand.stack({hand.main, hand.lock}), "futex", 1, 3, 0.5, hand.futex);
  hand.wait(hand.thread, hand.stack({hand.main}), "", 2, 0, 2);
  const CallTree tree = hand.tree({.metric = Metric::kOffCpu});
  EXPECT_EQ(folded(tree),
            "app;main;[run queue] 2000000\n"
            "app;main;lock;[run queue] 500000\n"
            "app;main;lock;[wait: futex] 3000000\n");
  EXPECT_EQ(tree.unit, "ns");
  EXPECT_EQ(tree.waits, 2u);
  EXPECT_EQ(tree.nodes.back().kind, NodeKind::kCause);
}

TEST(OffCpuTree, CutsWaitsAtTheEdgesOfTheWindow) {
  OneLock hand;
  hand.wait(hand.thread, hand.stack({hand.lock}), "futex", 1, 1000, 500, hand.futex);
  EXPECT_EQ(folded(hand.tree({.metric = Metric::kOffCpu, .from_ns = 1'600'000'000, .to_ns = 2'200'000'000})),
            "app;lock;[run queue] 200000000\napp;lock;[wait: futex] 400000000\n");
  const CallTree after = hand.tree({.metric = Metric::kOffCpu, .from_ns = 3'000'000'000});
  EXPECT_EQ(after.total, 0);
  EXPECT_EQ(after.filtered, 1u);
}

TEST(OffCpuTree, CountsAWaitForAllThatItStandsFor) {
  OneLock hand;
  hand.wait(hand.thread, hand.stack({hand.lock}), "futex", 1, 2, 0, hand.futex).weight = 5;
  const CallTree tree = hand.tree({.metric = Metric::kOffCpu});
  EXPECT_EQ(tree.total, 10'000'000);
  EXPECT_DOUBLE_EQ(tree.effective_samples, 1e14 / (4e12 * 5 * 4));  // total^2 / variance
}

TEST(OffCpuTree, IsExactWhenEveryWaitWasSeen) {
  OneLock hand;
  hand.wait(hand.thread, hand.stack({hand.lock}), "futex", 1, 2, 0, hand.futex);
  EXPECT_EQ(hand.tree({.metric = Metric::kOffCpu}).effective_samples, kExact);
}

TEST(WallTree, HasRunningAndWaitingTime) {
  OneLock hand;
  hand.sample(hand.thread, hand.stack({hand.main}), 3);  // of 10 ms each
  hand.wait(hand.thread, hand.stack({hand.main, hand.lock}), "futex", 1, 3, 0, hand.futex);
  EXPECT_EQ(folded(hand.tree({.metric = Metric::kWall})),
            "app;main 30000000\napp;main;lock;[wait: futex] 3000000\n");
}

TEST(IdleFolding, MakesOneFramePerThreadAndKeepsItsRunQueue) {
  OneLock hand;
  hand.wait(hand.thread, hand.stack({hand.main, hand.loop}), "epoll_wait", 1, 5, 1);
  hand.wait(hand.thread, hand.stack({hand.main, hand.lock}), "futex", 2, 3, 0, hand.futex);
  EXPECT_EQ(folded(hand.tree({.metric = Metric::kOffCpu, .fold_idle = true})),
            "app;(idle: redis event loop) 5000000\n"
            "app;main;aeApiPoll;[run queue] 1000000\n"
            "app;main;lock;[wait: futex] 3000000\n");
  EXPECT_EQ(folded(hand.tree({.metric = Metric::kOffCpu})),
            "app;main;aeApiPoll;[run queue] 1000000\n"
            "app;main;aeApiPoll;[wait: poll] 5000000\n"
            "app;main;lock;[wait: futex] 3000000\n");
}

TEST(OffCpuTree, FromTheLeafBeginsWithTheCause) {
  OneLock hand;
  hand.wait(hand.thread, hand.stack({hand.main, hand.lock}), "futex", 1, 3, 0, hand.futex);
  const CallTree tree =
      build_call_tree(hand.profile, {.selection = {.metric = Metric::kOffCpu}, .reverse = true});
  EXPECT_EQ(folded(tree), "[wait: futex];lock;main;app 3000000\n");
}

// A thread of 10 s whose waits of 40 ms were walked one in ten.
model::Profile one_in_ten(double waited_s, double queued_s) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
  model::Thread& row = hand.profile.threads[thread.value];
  row.ran_ns = static_cast<std::uint64_t>((10 - waited_s - queued_s) * 1e9);
  row.waited_ns = static_cast<std::uint64_t>(waited_s * 1e9);
  row.queued_ns = static_cast<std::uint64_t>(queued_s * 1e9);
  row.waits = 200;
  row.unwalked_waits = 180;
  const auto app = hand.module("app");
  const auto stack = hand.stack({hand.frame(app, {"main"})});
  for (int i = 0; i < 20; ++i) hand.wait(thread, stack, "fsync", i * 0.45, 40, 2).weight = 10;
  return std::move(hand.profile);
}

std::pair<WaitSum, WaitSum> sums_of(const model::Profile& profile, const Selection& selection = {}) {
  const Waits waits(profile, selection);
  std::pair<WaitSum, WaitSum> sums;
  for (const SelectedWait& row : waits.rows()) {
    sums.first.add(row.waited_ns, waits.weight(row));
    sums.second.add(row.queued_ns, waits.queue_weight(row));
  }
  return sums;
}

TEST(Waits, ThatStandForOthersAddUpToWhatTheSchedulerKnows) {
  for (const auto& [waited_s, queued_s] : {std::pair{8.0, 0.4}, {5.0, 0.4}, {9.0, 1.0}, {2.0, 0.1}}) {
    const auto [waited, queued] = sums_of(one_in_ten(waited_s, queued_s));
    EXPECT_NEAR(static_cast<double>(waited.total_ns()), waited_s * 1e9, 1e4);
    EXPECT_NEAR(static_cast<double>(queued.total_ns()), queued_s * 1e9, 1e4);
    EXPECT_EQ(waited.waits(), 200);
    EXPECT_LT(waited.error_ns(), 0.35 * static_cast<double>(waited.total_ns()))
        << "how it is divided between both";
  }
}

TEST(Waits, OfWhichAllIsKnownAreExact) {
  const auto [waited, queued] = sums_of(one_in_ten(8, 0.04));
  EXPECT_NEAR(waited.error_ns(), 0, 1e6) << "there is nothing else that it could be";
}

// What the scheduler booked is of other waits than those of the file, which may be damaged.
TEST(Waits, AreNotScaledToASumThatIsFarOff) {
  const auto [waited, queued] = sums_of(one_in_ten(0.9, 0.4));
  EXPECT_EQ(waited.total_ns(), 8'000'000'000) << "20 waits of 40 ms that stand for 10 each";
  EXPECT_GT(waited.error_ns(), 1e9);
}

TEST(Waits, OfAWindowAreScaledAsThoseOfTheWhole) {
  const model::Profile profile = one_in_ten(6, 0.4);
  const auto in = [&](std::uint64_t from_ms, std::uint64_t to_ms) {
    const auto [waited, queued] =
        sums_of(profile, {.from_ns = from_ms * 1'000'000, .to_ns = to_ms * 1'000'000});
    return waited.total_ns();
  };
  EXPECT_NEAR(static_cast<double>(in(0, 4500) + in(4500, 10'000)), 6e9, 1e4);
}

TEST(WaitSum, EstimatesWithAnInterval) {
  WaitSum sum;
  sum.add(100, 1);
  EXPECT_EQ(sum.error_ns(), 0);
  sum.add(10, 4);
  EXPECT_EQ(sum.total_ns(), 140);
  EXPECT_EQ(sum.waits(), 5);
  EXPECT_EQ(sum.walked(), 2u);
  EXPECT_EQ(sum.max_ns(), 100u);
  EXPECT_DOUBLE_EQ(sum.mean_ns(), 28);
  EXPECT_DOUBLE_EQ(sum.error_ns(), 1.959964 * std::sqrt(10.0 * 10 * 4 * 3));
}

// Of any profile: nothing vanishes and nothing is counted twice.
TEST(WaitProperties, OffCpuIsTheSumOfAllWaitsTimesTheirWeights) {
  model::for_each_profile(100, [](const model::Profile& profile) {
    std::int64_t sum = 0;
    for (const model::Sample& sample : profile.samples) {
      if (sample.metric != Metric::kOffCpu) continue;
      if (__builtin_add_overflow(sum, sample.value, &sum)) return;
    }
    const Waits waits(profile, {.metric = Metric::kOffCpu});
    for (const SelectedWait& row : waits.rows()) {
      if (__builtin_add_overflow(sum, weighted_ns(row.waited_ns, waits.weight(row)), &sum)) return;
      if (__builtin_add_overflow(sum, weighted_ns(row.queued_ns, waits.queue_weight(row)), &sum)) return;
      if (sum > INT64_MAX / 4) return;  // values of no real recording are cut
    }
    if (std::abs(sum) > INT64_MAX / 4) return;
    const CallTree tree = build_call_tree(profile, {.selection = {.metric = Metric::kOffCpu}});
    EXPECT_EQ(tree.waits, profile.waits.size());
    if (profile.samples.empty()) {
      EXPECT_EQ(tree.total, sum);
    }
  });
}

// Whether the waits are packed changes nothing, and a row by its number is the one that is gone over.
TEST(WaitProperties, PackedWaitsGiveTheSameRows) {
  model::for_each_profile(20, [](const model::Profile& profile) {
    if (profile.waits.empty()) return;
    model::Profile open = profile;
    while (open.waits.size() <= 2 * model::kRowsOfBlock) {
      const std::vector<model::Wait> more = open.waits;
      open.waits.insert(open.waits.end(), more.begin(), more.end());
    }
    model::Profile packed = open;
    packed.packed_waits.take_from(packed.waits);
    const std::uint64_t length = profile.meta.end_ns - profile.meta.start_ns;
    for (const Selection& selection : {Selection{}, Selection{.from_ns = length / 4, .to_ns = length / 2}}) {
      const Waits of_open(open, selection), of_packed(packed, selection);
      ASSERT_EQ(of_packed.rows().size(), of_open.rows().size());
      EXPECT_EQ(of_packed.filtered(), of_open.filtered());
      std::size_t number = 0;
      for (const SelectedWait& row : of_packed.rows()) {
        const SelectedWait same = of_open.rows()[number++];
        ASSERT_EQ(row.wait, same.wait);
        ASSERT_EQ(
            std::tuple(row.waited_ns, row.queued_ns, row.weight, row.cause, row.queue_cause, row.idle),
            std::tuple(same.waited_ns, same.queued_ns, same.weight, same.cause, same.queue_cause, same.idle));
        ASSERT_EQ(row.scale, same.scale);
        ASSERT_EQ(row.queue_scale, same.queue_scale);
      }
    }
  });
}

// Of a recording of 10 s: as many threads as there are numbers wait at one condition variable for so long.
std::size_t idle_of_crowd(const std::vector<double>& waited_s, std::uint64_t step = 4,
                          bool unfinished = false) {
  HandMade hand;
  const auto process = hand.process(10, "app");
  const auto app = hand.module("app"), libc = hand.module("libc.so.6");
  const auto parked = hand.stack({hand.frame(app, {"Pool::run"}), hand.frame(libc, {"pthread_cond_wait"})});
  for (std::size_t i = 0; i < waited_s.size(); ++i) {
    const auto futex = hand.object(model::ObjectKind::kFutex, "", 0x1000 + step * (i % 2));
    const auto thread = hand.thread(process, static_cast<std::int32_t>(11 + i), "w" + std::to_string(i));
    hand.wait(thread, parked, "futex", 0, 1000 * waited_s[i], 0, futex).unfinished = unfinished;
  }
  const Waits waits(hand.profile, {});
  return static_cast<std::size_t>(
      std::ranges::count_if(waits.rows(), [](const SelectedWait& row) { return row.idle.has_value(); }));
}

TEST(Waits, OfManyThreadsAtOneConditionVariableAreOneIdlePool) {
  EXPECT_EQ(idle_of_crowd(std::vector<double>(1000, 10)), 1000u);
  EXPECT_EQ(idle_of_crowd(std::vector<double>(8, 9.5)), 8u);
}

TEST(Waits, OfFewThreadsOrOfThreadsThatGetWorkAreNoIdlePool) {
  EXPECT_EQ(idle_of_crowd(std::vector<double>(7, 10)), 0u) << "too few to be told from a lock";
  EXPECT_EQ(idle_of_crowd(std::vector<double>(100, 5)), 0u) << "served half of the time";
  EXPECT_EQ(idle_of_crowd(std::vector<double>(14, 10), 64), 0u)
      << "two condition variables of seven threads each";
  std::vector<double> mixed(10, 10);
  mixed[3] = 4;
  EXPECT_EQ(idle_of_crowd(mixed), 9u) << "the one that worked is not idle";
}

// Threads whose notifier has died look like this, too.
TEST(Waits, OfManyThreadsThatNothingWokeAreNotProvedToBeIdle) {
  EXPECT_EQ(idle_of_crowd(std::vector<double>(12, 10), 4, true), 0u);
}

TEST(WaitProperties, FoldingIdleWaitsChangesNoTotal) {
  model::for_each_profile(60, [](const model::Profile& profile) {
    for (const Metric metric : {Metric::kOffCpu, Metric::kWall}) {
      const CallTree shown = build_call_tree(profile, {.selection = {.metric = metric}});
      const CallTree folded = build_call_tree(profile, {.selection = {.metric = metric, .fold_idle = true}});
      EXPECT_EQ(shown.total, folded.total);
      EXPECT_EQ(shown.samples, folded.samples);
    }
  });
}

TEST(WaitProperties, WallIsWhatRanAndWhatWaited) {
  OneLock hand;
  hand.sample(hand.thread, hand.stack({hand.main}), 7);
  hand.wait(hand.thread, hand.stack({hand.lock}), "futex", 1, 2, 3, hand.futex).weight = 3;
  const std::int64_t cpu = hand.tree({.metric = Metric::kCpu}).total * 10'000'000;
  const std::int64_t off_cpu = hand.tree({.metric = Metric::kOffCpu}).total;
  EXPECT_EQ(hand.tree({.metric = Metric::kWall}).total, cpu + off_cpu);
}

}  // namespace
}  // namespace fathom::analysis
