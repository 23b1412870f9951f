#include "analysis/core/subsystems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "analysis/core/stack_groups.h"

namespace fathom::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Subsystems parsed(std::string_view text) {
  return Subsystems::parse(text, "parts.txt").value();
}

TEST(Subsystems, ThePatternOfTheFirstLineThatFitsCounts) {
  const Subsystems parts = parsed(
      "# a node\n"
      "\n"
      "execution = revm::  evm_run\n"
      "database=mdbx_ libmdbx.so # and a comment is none\n"
      "network   = /^(hyper|h2) ?::/ \n");
  EXPECT_EQ(parts.name(parts.find("revm::interpreter::run", "node").value()), "execution");
  EXPECT_EQ(parts.name(parts.find("mdbx_put", "node").value()), "database");
  EXPECT_EQ(parts.name(parts.find("page_split", "libmdbx.so.0").value()), "database");
  EXPECT_EQ(parts.name(parts.find("h2::proto::poll", "node").value()), "network");
  EXPECT_FALSE(parts.find("my_h2::poll", "node"));
}

TEST(Subsystems, AMistakeIsFoundByItsLine) {
  const auto error = [](std::string_view text) {
    return Subsystems::parse(text, "parts.txt").error().message;
  };
  EXPECT_THAT(error("a = b\nwhat is this\n"), HasSubstr("parts.txt: line 2: expected NAME = PATTERN"));
  EXPECT_THAT(error("a =\n"), HasSubstr("line 1: expected"));
  EXPECT_THAT(error("a = /(/\n"), HasSubstr("parts.txt: line 1: "));
  EXPECT_THAT(error("# nothing\n"), HasSubstr("no subsystem"));
}

// A helper such as memcpy belongs to who called it: the innermost function that a rule knows decides.
TEST(Subsystems, AStackBelongsToTheInnermostThatARuleKnows) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(10, "node"), 10, "node");
  const auto app = hand.module("node"), libc = hand.module("libc.so.6");
  const auto main = hand.frame(app, {"main"}), run = hand.frame(app, {"revm::run"}),
             put = hand.frame(app, {"mdbx_put"}), copy = hand.frame(libc, {"memcpy"});
  hand.sample(thread, hand.stack({main, run, copy}), 50);
  hand.sample(thread, hand.stack({main, run, put, copy}), 30);
  hand.sample(thread, hand.stack({main, run, put, run}), 5);
  hand.sample(thread, hand.stack({main, copy}), 15);
  const Subsystems parts = parsed("execution = revm::\ndatabase = mdbx_\nunused = nothing_of_this\n");
  std::vector<std::string> rows;
  for (const GroupRow& row : group_by_subsystem(hand.profile, {}, parts, SortBy::kSelf).rows)
    rows.push_back(row.name + " " + std::to_string(row.self) + " " + std::to_string(row.total));
  EXPECT_THAT(rows, ElementsAre("execution 55 85", "database 30 35", "(other) 15 15"));
}

}  // namespace
}  // namespace fathom::analysis
