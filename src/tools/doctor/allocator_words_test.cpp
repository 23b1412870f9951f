#include "tools/doctor/allocator_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fathom::doctor {
namespace {

using allocators::AllocatorState;
using allocators::Certainty;
using allocators::HeldKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kMiB = 1 << 20;

// A node whose jemalloc keeps half of its memory.
TargetFacts node() {
  TargetFacts target;
  target.allocators = {{"jemalloc 5.3.0 (_rjem_)", "/usr/bin/node", {"_rjem_malloc"}}};
  AllocatorState state;
  state.name = "jemalloc";
  state.layout = "5.3";
  state.module = "/usr/bin/node";
  state.certainty = Certainty::kVerified;
  state.lines = {{HeldKind::kLive, 42 * kMiB, 40 * kMiB, true},
                 {HeldKind::kDirty, 67 * kMiB, 62 * kMiB, false},
                 {HeldKind::kMuzzy, 0, 0, false}};
  state.arenas = {{.index = 0, .live = 42 * kMiB, .free = 67 * kMiB, .held = 109 * kMiB}};
  state.records = 14000;
  state.returnable = 62 * kMiB;
  target.held.emplace().allocators = {state};
  target.held->took_ns = 8'400'000;
  return target;
}

TEST(AllocatorWords, TableHasWhatIsHeldAndWhatOfItIsResident) {
  const std::string table = held_table(node());
  EXPECT_THAT(table, HasSubstr("jemalloc 5.3.0 (_rjem_) of /usr/bin/node holds\n"));
  EXPECT_THAT(table, HasSubstr("         42.0      40.0  live blocks\n"));
  EXPECT_THAT(table, HasSubstr("         67.0      62.0  free, not given back (dirty)\n"));
  EXPECT_THAT(table, Not(HasSubstr("muzzy")));
  EXPECT_THAT(table, HasSubstr("  in 1 arena; 14000 records agree with each other\n"));
  EXPECT_THAT(table, HasSubstr("read from outside in 8.4 ms, without stopping it\n"));
}

TEST(AllocatorWords, WhatIsNotKnownHasItsReasonAndNoNumber) {
  TargetFacts target = node();
  AllocatorState& state = target.held->allocators[0];
  state = {};
  state.name = "mimalloc";
  state.module = "/usr/lib/libmimalloc.so.2";
  state.reason = "its records are not read";
  EXPECT_THAT(held_table(target), HasSubstr("  mimalloc of /usr/lib/libmimalloc.so.2: contents unknown: "));
  std::vector<Finding> findings;
  find_about_held(target, findings);
  EXPECT_TRUE(findings.empty());
}

TEST(AllocatorWords, ReadingThatMovedSaysHowFarItCanBeOff) {
  TargetFacts target = node();
  target.held->allocators[0].certainty = Certainty::kMoved;
  target.held->allocators[0].moved = 3;
  target.held->allocators[0].moved_bytes = 2 * kMiB;
  EXPECT_THAT(held_table(target), HasSubstr("; 3 changed while they were read: up to 2.0 MiB off\n"));
}

TEST(AllocatorWords, FindingHasTheRemediesWithTheirPrice) {
  std::vector<Finding> findings;
  find_about_held(node(), findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(
      findings[0].text,
      "jemalloc 5.3.0 (_rjem_) keeps 62.0 MiB of resident memory that is free and could be given back.");
  std::vector<std::string> commands;
  for (const Remedy& remedy : findings[0].remedies) {
    commands.push_back(remedy.command);
    EXPECT_THAT(remedy.side_effects, HasSubstr("(up to 62.0 MiB); "));
  }
  EXPECT_THAT(commands, ElementsAre("_rjem_mallctl(\"arena.4096.purge\", NULL, NULL, NULL, 0)",
                                    "_RJEM_MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,"
                                    "muzzy_decay_ms:0"));
}

TEST(AllocatorWords, LittleIsNoFinding) {
  TargetFacts target = node();
  target.held->allocators[0].returnable = 3 * kMiB;
  std::vector<Finding> findings;
  find_about_held(target, findings);
  EXPECT_TRUE(findings.empty());
}

TEST(AllocatorWords, JsonHasEveryLineAndNullWhereNothingWasRead) {
  const auto json = held_json(node());
  EXPECT_EQ(json["allocators"][0]["certainty"], "verified");
  EXPECT_EQ(json["allocators"][0]["lines"][1]["kind"], "dirty");
  EXPECT_EQ(json["allocators"][0]["lines"][1]["resident_bytes"], 62 * kMiB);
  EXPECT_EQ(json["allocators"][0]["returnable_bytes"], 62 * kMiB);
  TargetFacts target = node();
  target.held.reset();
  EXPECT_TRUE(held_json(target).is_null());
  EXPECT_EQ(held_table(target), "");
}

}  // namespace
}  // namespace fathom::doctor
