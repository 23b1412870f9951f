#include "analysis/core/stack_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

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
struct WaitingStacks {
  WaitingStacks() {
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
  const WaitingStacks waiting;
  EXPECT_EQ(waiting.total({}, {}, true), 545);
  EXPECT_EQ(waiting.total({"[wait: file read]"}, {}, true), 30);
  EXPECT_EQ(waiting.total({}, {"[wait: file read]"}, true), 515) << "the run queue is another frame";
  EXPECT_EQ(waiting.total({"[run queue]"}, {}, true), 5);
  EXPECT_EQ(waiting.total({"/^.wait: (sleep|file)/"}, {}, true), 40);
  EXPECT_EQ(waiting.total({"file read"}, {}, true), 30) << "as tables call it";
}

TEST(StackChoice, IdleWaitsFitByWhatIsShownOfThem) {
  const WaitingStacks waiting;
  EXPECT_EQ(waiting.total({}, {"(idle:"}, true), 45);
  EXPECT_EQ(waiting.total({"(idle:"}, {}, true), 500);
  EXPECT_EQ(waiting.total({}, {"[wait: poll]"}, true), 545) << "folded, the cause is not shown";
  EXPECT_EQ(waiting.total({}, {"[wait: poll]"}, false), 45);
}

// Stacks of a tree with what each costs itself, "a;b": value; without threads. "" is what no call that is shown has.
std::map<std::string, std::int64_t> shown(const model::Profile& profile, const StackCuts& cuts,
                                          model::Metric metric = model::Metric::kCpu, bool reverse = false,
                                          const std::vector<std::string>& focus = {}) {
  TreeOptions options;
  options.thread_roots = false;
  options.reverse = reverse;
  options.selection.metric = metric;
  options.selection.fold_idle = true;
  options.selection.stacks = choose_stacks(profile, focus, {}, cuts).value();
  const CallTree tree = build_call_tree(profile, options);
  std::map<std::string, std::int64_t> stacks;
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    if (tree.nodes[i].self == 0) continue;
    std::string path;
    for (std::uint32_t at = i; at != 0; at = tree.nodes[at].parent)
      path = tree.name(tree.nodes[at]) + (path.empty() ? "" : ";") + path;
    stacks[path] += tree.nodes[i].self;
  }
  return stacks;
}

model::Profile three_deep() {
  HandMade hand;
  const auto app = hand.module("app"), lib = hand.module("libz.so");
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto main = hand.frame(app, {"main"}), serve = hand.frame(app, {"net::serve"}),
             parse = hand.frame(app, {"json::inlined", "json::parse"}), pack = hand.frame(lib, {"deflate"}),
             unnamed = hand.unnamed(lib, 0x40);
  hand.sample(thread, hand.stack({main, serve, parse, serve, pack}), 5);
  hand.sample(thread, hand.stack({main, serve}), 3);
  hand.sample(thread, hand.stack({main, unnamed}), 2);
  return std::move(hand.profile);
}

TEST(StackChoice, HidesCallsAndKeepsSums) {
  const model::Profile profile = three_deep();
  using Stacks = std::map<std::string, std::int64_t>;
  EXPECT_EQ(shown(profile, {{"serve"}, {}}),
            (Stacks{{"main;json::parse;json::inlined;deflate", 5}, {"main", 3}, {"main;[libz.so+0x40]", 2}}));
  EXPECT_EQ(
      shown(profile, {{"/^json::i/", "libz.so+0x40"}, {}}),
      (Stacks{{"main;net::serve;json::parse;net::serve;deflate", 5}, {"main;net::serve", 3}, {"main", 2}}));
  EXPECT_EQ(shown(profile, {{"crate:json", "module:libz"}, {}}),
            (Stacks{{"main;net::serve;net::serve", 5}, {"main;net::serve", 3}, {"main", 2}}));
  EXPECT_EQ(shown(profile, {{"serve"}, {}}, model::Metric::kCpu, true),
            (Stacks{{"deflate;json::inlined;json::parse;main", 5}, {"main", 3}, {"[libz.so+0x40];main", 2}}));
}

TEST(StackChoice, LeavesNoNameOfWhatIsHidden) {
  const model::Profile profile = three_deep();
  TreeOptions options;
  options.selection.stacks = choose_stacks(profile, {}, {}, {{"serve", "[libz.so+0x40]"}, {}}).value();
  EXPECT_THAT(build_call_tree(profile, options).names,
              testing::UnorderedElementsAre("all", "app", "deflate", "json::inlined", "json::parse", "main"));
}

TEST(StackChoice, ShowsFromTheOutermostCallThatFits) {
  const model::Profile profile = three_deep();
  using Stacks = std::map<std::string, std::int64_t>;
  EXPECT_EQ(shown(profile, {{}, {"serve"}}),
            (Stacks{{"net::serve;json::parse;json::inlined;net::serve;deflate", 5}, {"net::serve", 3}}));
  EXPECT_EQ(shown(profile, {{}, {"json::inlined"}}), (Stacks{{"json::inlined;net::serve;deflate", 5}}));
  EXPECT_EQ(shown(profile, {{"serve"}, {"serve"}}),
            (Stacks{{"json::parse;json::inlined;deflate", 5}, {"", 3}}));
  EXPECT_EQ(shown(profile, {{}, {"json"}}, model::Metric::kCpu, true),
            (Stacks{{"deflate;net::serve;json::inlined;json::parse", 5}}));
  // What another focus adds is of no call.
  EXPECT_EQ(shown(profile, {{}, {"json"}}, model::Metric::kCpu, false, {"main"}).at(""), 5);
  EXPECT_EQ(choose_stacks(profile, {}, {}, {{"nobody"}, {}}).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(choose_stacks(profile, {}, {}, {{}, {"/(/"}}).error().kind, ErrorKind::kUsage);
}

TEST(StackChoice, CutsWaitsByWhatIsShownOfThem) {
  const WaitingStacks waiting;
  auto stacks = shown(waiting.hand.profile, {{"[wait: sleep]"}, {}}, model::Metric::kOffCpu);
  EXPECT_EQ(stacks.at("pause_a_bit"), 10'000'000);
  stacks = shown(waiting.hand.profile, {{}, {"[wait: file read]"}}, model::Metric::kOffCpu);
  EXPECT_EQ(stacks.at("[wait: file read]"), 30'000'000);
  EXPECT_EQ(stacks.size(), 1u);
}

TEST(StackChoice, ModulesAndCratesStandForTheirFunctions) {
  const model::Profile profile = small_server();
  EXPECT_EQ(chosen(profile, {"module:libcodec"}, {}).first, 196) << "of code without names, too";
  EXPECT_EQ(chosen(profile, {"module:/^.kernel.$/"}, {}).first, 100);
  EXPECT_EQ(chosen(profile, {"crate:alloc"}, {}).first, 300) << "inlined";
  EXPECT_EQ(chosen(profile, {"crate:/^server$/"}, {"module:libcodec"}).first, 604);
  EXPECT_EQ(choose_stacks(profile, {"module:nowhere"}, {}).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(choose_stacks(profile, {"crate:/(/"}, {}).error().kind, ErrorKind::kUsage);
  EXPECT_EQ(choose_stacks(profile, {"module::run"}, {}).error().kind, ErrorKind::kNotFound) << "a name";
}

TEST(StackChoice, CausesAreNoFramesOfARecordingWithoutWaits) {
  EXPECT_EQ(choose_stacks(small_server(), {"[wait: futex]"}, {}).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::analysis
