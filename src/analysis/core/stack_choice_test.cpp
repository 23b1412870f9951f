#include "analysis/core/stack_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/call_tree.h"
#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

// The samples of a tree of the stacks that are chosen, and how many it leaves out.
std::pair<std::int64_t, std::uint64_t> chosen(const model::Profile& profile,
                                              const std::vector<std::string>& focus,
                                              const std::vector<std::string>& ignore) {
  TreeOptions options;
  options.selection.stacks = choose_stacks(profile, focus, ignore).value();
  const CallTree tree = build_call_tree(profile, options);
  return {tree.total, tree.filtered};
}

TEST(StackChoice, TakesStacksWithAFunctionAndWithoutOne) {
  const model::Profile profile = small_server();  // 300 in parse, 300 in walk, 100 in write, 200 in run
  EXPECT_EQ(chosen(profile, {}, {}), std::pair(std::int64_t{900}, std::uint64_t{0}));
  EXPECT_EQ(chosen(profile, {"server::request::parse"}, {}),
            std::pair(std::int64_t{300}, std::uint64_t{600}));
  EXPECT_EQ(chosen(profile, {"main"}, {"write"}), std::pair(std::int64_t{600}, std::uint64_t{300}));
  EXPECT_EQ(chosen(profile, {"write", "Worker::run"}, {}), std::pair(std::int64_t{300}, std::uint64_t{600}));
  EXPECT_EQ(chosen(profile, {}, {"/^server::/"}), std::pair(std::int64_t{400}, std::uint64_t{500}));
}

TEST(StackChoice, SeesInlinedCallsAndPlacesWithoutAName) {
  const model::Profile profile = small_server();
  EXPECT_EQ(chosen(profile, {"Vec<server::request::Header>::push"}, {}).first, 300);
  EXPECT_EQ(chosen(profile, {"libcodec.so+0x1f40"}, {}).first, 196);
}

TEST(StackChoice, RefusesWhatFitsNothing) {
  const model::Profile profile = small_server();
  EXPECT_EQ(choose_stacks(profile, {"nobody"}, {}).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(choose_stacks(profile, {}, {"/(/"}).error().kind, ErrorKind::kUsage);
  EXPECT_EQ(choose_stacks(profile, {""}, {}).error().kind, ErrorKind::kNotFound);
}

// What is left out on one side is there on the other.
TEST(StackChoice, FocusAndIgnoreOfOneFunctionAreTheWhole) {
  const model::Profile profile = small_server();
  for (const std::string name : {"main", "walk", "/Vec|run/", "ksys_write"})
    EXPECT_EQ(chosen(profile, {name}, {}).first + chosen(profile, {}, {name}).first, 900) << name;
}

TEST(StackChoice, HoldsForWaitsToo) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto app = hand.module("app");
  hand.wait(thread, hand.stack({hand.frame(app, {"read_page"})}), "read", 1, 30);
  hand.wait(thread, hand.stack({hand.frame(app, {"other"})}), "read", 2, 10);
  TreeOptions options;
  options.selection.metric = model::Metric::kOffCpu;
  options.selection.stacks = choose_stacks(hand.profile, {"read_page"}, {}).value();
  const CallTree tree = build_call_tree(hand.profile, options);
  EXPECT_EQ(tree.total, 30'000'000);
  EXPECT_EQ(tree.filtered, 1u);
}

// Two waits of 30 and 10 ms, of which the first also stood in the run queue for 5 ms, and an event loop without events.
struct Waiting {
  Waiting() {
    const auto process = hand.process(1, "app");
    const auto app = hand.module("app");
    const auto thread = hand.thread(process, 1, "app");
    hand.wait(thread, hand.stack({hand.frame(app, {"read_page"})}), "read", 1, 30, 5,
              hand.object(model::ObjectKind::kFile, "/data/pages"));
    hand.wait(thread, hand.stack({hand.frame(app, {"pause_a_bit"})}), "clock_nanosleep", 2, 10);
    hand.wait(hand.thread(process, 2, "loop"), hand.stack({hand.frame(app, {"uv__io_poll"})}), "epoll_wait",
              1, 500);
  }
  std::int64_t total(const std::vector<std::string>& focus, const std::vector<std::string>& ignore,
                     bool fold_idle) const {
    TreeOptions options;
    options.selection.metric = model::Metric::kOffCpu;
    options.selection.fold_idle = fold_idle;
    options.selection.stacks = choose_stacks(hand.profile, focus, ignore).value();
    return build_call_tree(hand.profile, options).total / 1'000'000;
  }
  HandMade hand;
};

TEST(StackChoice, WhatWasWaitedForIsAFrameOfTheStack) {
  const Waiting waiting;
  EXPECT_EQ(waiting.total({}, {}, true), 545);
  EXPECT_EQ(waiting.total({"[wait: file read]"}, {}, true), 30);
  EXPECT_EQ(waiting.total({}, {"[wait: file read]"}, true), 515) << "the run queue is another frame";
  EXPECT_EQ(waiting.total({"[run queue]"}, {}, true), 5);
  EXPECT_EQ(waiting.total({"/^.wait: (sleep|file)/"}, {}, true), 40);
  EXPECT_EQ(waiting.total({"file read"}, {}, true), 30) << "as tables call it";
}

TEST(StackChoice, IdleWaitsFitByWhatIsShownOfThem) {
  const Waiting waiting;
  EXPECT_EQ(waiting.total({}, {"(idle:"}, true), 45);
  EXPECT_EQ(waiting.total({"(idle:"}, {}, true), 500);
  EXPECT_EQ(waiting.total({}, {"[wait: poll]"}, true), 545) << "folded, the cause is not shown";
  EXPECT_EQ(waiting.total({}, {"[wait: poll]"}, false), 45);
}

TEST(StackChoice, CausesAreNoFramesOfARecordingWithoutWaits) {
  EXPECT_EQ(choose_stacks(small_server(), {"[wait: futex]"}, {}).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::analysis
