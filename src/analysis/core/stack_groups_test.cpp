#include "analysis/core/stack_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/call_tree.h"
#include "analysis/core/hand_made_profile.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

using testing::ElementsAre;

std::vector<std::string> written(const StackGroups& groups) {
  std::vector<std::string> lines;
  for (const GroupRow& row : groups.rows)
    lines.push_back(row.name + " " + std::to_string(row.self) + " " + std::to_string(row.total) +
                    (row.function.empty() ? "" : " " + row.function));
  return lines;
}

TEST(StackGroups, OfTheSmallServer) {
  const model::Profile profile = small_server();
  EXPECT_THAT(written(group_stacks(profile, {}, GroupBy::kModule, SortBy::kSelf)),
              ElementsAre("server 604 900", "libcodec.so 196 196", "[kernel] 100 100", "libc.so.6 0 700"));
  EXPECT_THAT(written(group_stacks(profile, {}, GroupBy::kCrate, SortBy::kTotal)),
              ElementsAre("server 304 900", "libc.so.6 0 700", "alloc 300 300", "libcodec.so 196 196",
                          "[kernel] 100 100"));
  EXPECT_THAT(written(group_stacks(profile, {}, GroupBy::kThread, SortBy::kSelf)),
              ElementsAre("server 700 700", "worker-1 200 200"));
}

TEST(StackGroups, ProcessesOfOneNameAreOneRow) {
  HandMade hand;
  const auto work = hand.stack({hand.frame(hand.module("cc"), {"work"})});
  for (const auto& [pid, name, value] : {std::tuple(10, "cc", 30), std::tuple(11, "cc", 20),
                                         std::tuple(12, "ld", 40), std::tuple(13, "as", 0)})
    if (const auto thread = hand.thread(hand.process(pid, name), pid, name); value > 0)
      hand.sample(thread, work, value);
  EXPECT_THAT(written(group_stacks(hand.profile, {}, GroupBy::kProcess, SortBy::kSelf)),
              ElementsAre("cc (2 processes) 50 50", "ld 40 40"));
}

struct WithLines : HandMade {
  model::ModuleId app = module("app");
  model::ThreadId thread_row = thread(process(10, "app"), 10, "app");
  std::uint64_t at = 0x100;
  model::FrameId place(const std::vector<model::Builder::NamedLine>& lines) {
    const model::FrameId id = builder.frame(app, ElfAddress{at += 16});
    builder.name_frame(id, lines);
    return id;
  }
};

TEST(StackGroups, LinesAreThoseOfEachCallAlsoWhereItWasInlined) {
  WithLines hand;
  const auto main = hand.place({{"main", "/src/app/main.cpp", 40}});
  const auto parse = hand.place({{"push", "/usr/include/vector.h", 9}, {"parse", "/src/app/parse.cpp", 24}});
  const auto other = hand.place({{"parse", "/src/app/parse.cpp", 30}});
  hand.sample(hand.thread_row, hand.stack({main, parse}), 60);
  hand.sample(hand.thread_row, hand.stack({main, other}), 30);
  hand.sample(hand.thread_row, hand.stack({main, hand.unnamed(hand.app, 0x999)}), 10);
  EXPECT_THAT(written(group_stacks(hand.profile, {}, GroupBy::kLine, SortBy::kSelf)),
              ElementsAre("include/vector.h:9 60 60 push", "app/parse.cpp:30 30 30 parse", "(app) 10 10",
                          "app/main.cpp:40 0 100 main", "app/parse.cpp:24 0 60 parse"));
  EXPECT_THAT(
      written(group_stacks(hand.profile, {}, GroupBy::kFile, SortBy::kTotal)),
      ElementsAre("app/main.cpp 0 100", "app/parse.cpp 30 90", "include/vector.h 60 60", "(app) 10 10"));
}

TEST(StackGroups, ARecursionCountsOnce) {
  WithLines hand;
  const auto walk = hand.place({{"walk", "/src/tree.cpp", 7}});
  hand.sample(hand.thread_row, hand.stack({walk, walk, walk}), 50);
  EXPECT_THAT(written(group_stacks(hand.profile, {}, GroupBy::kLine, SortBy::kSelf)),
              ElementsAre("src/tree.cpp:7 50 50 walk"));
}

TEST(StackGroups, WaitsAreGroupedByTheTimeThatTheyTook) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto app = hand.module("app"), libc = hand.module("libc.so.6");
  const auto read = hand.frame(libc, {"read"});
  hand.wait(thread, hand.stack({hand.frame(app, {"store::load"}), read}), "read", 1, 30);
  hand.wait(thread, hand.stack({hand.frame(app, {"net::get"}), read}), "read", 2, 10);
  EXPECT_THAT(written(group_stacks(hand.profile, {.metric = model::Metric::kOffCpu}, GroupBy::kCrate,
                                   SortBy::kTotal)),
              ElementsAre("libc.so.6 40000000 40000000", "store 0 30000000", "net 0 10000000"));
}

// Self adds up to the tree's total, and no group has more than all.
TEST(StackGroups, AddUpInAnyProfile) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    const CallTree tree = build_call_tree(profile, {});
    for (const GroupBy by :
         {GroupBy::kModule, GroupBy::kCrate, GroupBy::kThread, GroupBy::kFile, GroupBy::kLine}) {
      const StackGroups groups = group_stacks(profile, {}, by, SortBy::kSelf);
      EXPECT_EQ(groups.whole, tree.total) << seed << " " << to_string(by);
      for (const GroupRow& row : groups.rows) {
        EXPECT_LE(row.self, row.total) << seed << " " << row.name;
        EXPECT_LE(row.total, tree.total) << seed << " " << row.name;
      }
    }
  }
}

}  // namespace
}  // namespace fathom::analysis
