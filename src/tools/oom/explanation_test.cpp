#include "tools/oom/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/golden.h"
#include "tools/oom/present.h"

namespace fathom::oom {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<Record> of(const std::string& name) {
  return read_records(read_file("testdata/" + name).value());
}

std::string text_of(const std::string& name) {
  const auto records = of(name);
  std::vector<Shown> shown;
  for (std::size_t i = 0; i < records.size(); ++i) shown.push_back({i + 1, {}});
  return to_text(records, shown, 100);
}

TEST(Explanation, GroupLimitDiffersFromTheMachine) {
  EXPECT_THAT(explain(of("v1_journal_truncated.log").at(0)).why.at(0), HasSubstr("met its limit of 1.0 GiB"));
  EXPECT_THAT(explain(of("machine_reth.log").at(0)).why.at(0), HasSubstr("no control group's limit was met"));
}

TEST(Explanation, LimitOfAGroupAboveIsNamed) {
  EXPECT_THAT(explain(of("nested_group.log").at(0)).why, Contains(HasSubstr("of a group above it")));
}

TEST(Explanation, DirtyCacheIsNoLeak) {
  const Explanation told = explain(of("v1_dirty_cache.log").at(0));
  EXPECT_EQ(told.group.at(0).name, "files, not yet written");
  EXPECT_THAT(told.remedies.at(0), HasSubstr("the disk has not taken yet"));
  EXPECT_THAT(told.why.at(0), HasSubstr("for memory and swap"));
}

TEST(Explanation, PageTablesOfALargeMappingAreNamed) {
  const Explanation told = explain(of("machine_reth.log").at(3));
  EXPECT_EQ(told.resident_bytes, 38309664ULL << 10);
  EXPECT_THAT(told.remedies, Contains(HasSubstr("page tables took 1.2 GiB")));
}

TEST(Explanation, WhatWasLargerAndSparedIsNamed) {
  Record record = of("machine_new_table.log").at(0);
  record.scope = Scope::kMachine;
  record.kills.push_back({.pid = 4046, .name = "konsole", .measured = true, .anon_bytes = 2532 << 12});
  const Explanation told = explain(record);
  EXPECT_EQ(told.large.at(0).name, "mprime");
  EXPECT_THAT(told.remedies, Contains(HasSubstr("mprime (pid 4076) was larger")));
}

TEST(Explanation, ProcessesThatDoNotExplainTheMachineAreSaidNotTo) {
  Record record;
  record.scope = Scope::kMachine;
  record.ram_bytes = 8ULL << 30;
  record.tasks.push_back({.pid = 1, .rss_bytes = 1ULL << 30, .name = "a"});
  record.machine_bytes = {{"slab_unreclaimable", 5ULL << 30}};
  EXPECT_THAT(explain(record).why, Contains(HasSubstr("5.0 GiB are kernel objects")));
  record.tasks[0].rss_bytes = 7ULL << 30;
  EXPECT_THAT(explain(record).why, Not(Contains(HasSubstr("all processes together"))));
}

TEST(Explanation, ObjectsOfTheKernelAreNamedAndNoProcessIsBlamed) {
  const Explanation told = explain(
      read_records("[9.1] ip invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
                   "[9.2] Unreclaimable slab info:\n[9.3] Name                      Used          Total\n"
                   "[9.4] inode_cache            10KB         20KB\n"
                   "[9.5] btrfs_extent_map     3207098KB    3375622KB\n"
                   "[9.6] Out of memory: Killed process 700 (fio) total-vm:900000kB, anon-rss:80000kB\n")
          .at(0));
  EXPECT_THAT(
      told.why,
      Contains(
          "objects of the kernel took 3.2 GiB, more than all processes; 3.2 GiB of it are btrfs_extent_map"));
  EXPECT_THAT(told.remedies, Not(Contains(HasSubstr("--heap"))));
}

TEST(Explanation, AVictimThatHeldLittleIsNotToBeProfiled) {
  Record record;
  record.scope = Scope::kMachine;
  record.ram_bytes = 8ULL << 30;
  record.kills.push_back({.pid = 4, .name = "sshd", .measured = true, .anon_bytes = 40ULL << 20});
  EXPECT_THAT(explain(record).remedies,
              testing::ElementsAre(HasSubstr("sshd held too little to explain this")));
  record.kills[0].anon_bytes = 4ULL << 30;
  EXPECT_THAT(explain(record).remedies, Contains(HasSubstr("fathom record --heap -n sshd")));
  record.kills[0].anon_bytes = 4ULL << 20;
  record.ram_bytes.reset();
  EXPECT_THAT(explain(record).remedies, Not(Contains(HasSubstr("--heap"))));
  record.tasks.push_back({.pid = 4, .rss_bytes = 4ULL << 20, .swap_bytes = 4ULL << 30, .name = "sshd"});
  EXPECT_THAT(explain(record).remedies, Contains(HasSubstr("fathom record --heap -n sshd")));
}

TEST(Explanation, LargeRequestsMayFailThoughMemoryIsThere) {
  Record record;
  record.scope = Scope::kMachine;
  record.order = 9;
  EXPECT_THAT(
      explain(record).why,
      Contains(HasSubstr(
          "the request was for 512 contiguous pages: memory may have been there, in smaller pieces")));
}

TEST(Explanation, NothingIsGuessedOfAnEmptyRecord) {
  const Explanation told = explain(Record{});
  EXPECT_EQ(told.who, "this record does not name the killed process");
  EXPECT_THAT(told.why, testing::ElementsAre("the lines that say why are not in this record"));
  EXPECT_THAT(told.victim, IsEmpty());
}

TEST(Explanation, SysRqNeedsNoRemedy) {
  Record record;
  record.asked_for = true;
  EXPECT_THAT(explain(record).remedies, IsEmpty());
}

TEST(OomText, ReadsLikeThis) {
  expect_golden("old_java.txt", text_of("v1_old_java.log"));
  expect_golden("dirty_cache.txt", text_of("v1_dirty_cache.log"));
  expect_golden("nested_group.txt", text_of("nested_group.log"));
  expect_golden("machine.txt", text_of("machine_6.18.log"));
  expect_golden("v1.txt", text_of("v1_6.18.log"));
  expect_golden("new_table.txt", text_of("machine_new_table.log"));
}

TEST(OomText, OfSeveralRecordsShowsOneAndListsAll) {
  const auto records = of("machine_reth.log");
  expect_golden("reth.txt",
                to_text(records, {{4, {{"fathom-profiles/reth/x.fathom", "pid 46653 was recorded"}}}}, 100));
}

TEST(OomJson, HasAllRecords) {
  expect_golden("old_java.json",
                to_json(of("v1_old_java.log"), {{1, {{"x.fathom", "pid 28438 was recorded"}}}}));
}

TEST(OomText, NamesFromTheLogCannotWriteToTheTerminal) {
  const auto records =
      read_records("Out of memory: Killed process 5 (\x1b[31mx\x07) total-vm:8kB, anon-rss:4kB\n");
  const std::string text = to_text(records, {{1, {}}}, 0);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\x07")));
}

}  // namespace
}  // namespace fathom::oom
