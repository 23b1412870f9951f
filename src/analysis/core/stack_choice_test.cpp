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

}  // namespace
}  // namespace fathom::analysis
