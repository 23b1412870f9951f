// Lines of real kernels: testdata/README.md says where they are from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "tools/oom/records.h"

namespace fathom::oom {
namespace {

using testing::SizeIs;

std::vector<Record> records_of(const std::string& name) {
  return read_records(read_file("testdata/" + name).value());
}

TEST(RealRecords, OfKernel3WithSwap) {
  const auto records = records_of("v1_old_java.log");
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].time, "Thu Dec  7 00:05:14 2017");
  EXPECT_EQ(records[0].limited_group, "/kubepods/pod95387fa4/6895a3e1");
  EXPECT_EQ(value_of(records[0].group_bytes, "swap"), 524356 << 10);
  ASSERT_THAT(records[0].kills, SizeIs(1));
  EXPECT_EQ(records[0].kills[0].pid, 28438) << "a child of the one that was chosen";
  EXPECT_EQ(records[0].tasks.at(0).swap_bytes, 136409ULL << 12);
  EXPECT_EQ(records[0].tasks.at(0).page_table_bytes, 1661 << 12);
  EXPECT_TRUE(records[1].kills.empty()) << "the log ends in its midst";
  EXPECT_EQ(records[1].request, "0xd0");
}

TEST(RealRecords, WhoseLastLineIsCutOffNameWhoWasChosen) {
  const auto records = records_of("v1_dirty_cache.log");
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].victim_group, records[0].limited_group);
  EXPECT_EQ(records[0].memory_and_swap, (Usage{524288 << 10, 524288 << 10, 38}));
  EXPECT_EQ(records[0].kernel->limit_bytes, std::nullopt) << "the largest number there is, is no limit";
  EXPECT_EQ(value_of(records[0].group_bytes, "dirty"), 503316 << 10);
  EXPECT_THAT(records[0].tasks, SizeIs(2));
  EXPECT_EQ(records[0].kills.at(0).pid, 62685);
}

TEST(RealRecords, WhoseStatisticsTakeALineEach) {
  const auto records = records_of("v1_many_lines.log");
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(value_of(records[0].group_bytes, "anon"), 1062739968);
  EXPECT_EQ(value_of(records[0].group_bytes, "active_anon"), 1062469632);
  EXPECT_EQ(records[0].memory->failures, 153U);
}

TEST(RealRecords, OfAConsoleWithNamesThatHoldBlanks) {
  const auto records = records_of("v1_console.log");
  ASSERT_THAT(records, SizeIs(1));
  ASSERT_THAT(records[0].tasks, SizeIs(4));
  EXPECT_EQ(records[0].tasks[1].name, "npm start");
  EXPECT_EQ(records[0].tasks[3].rss_bytes, 138005ULL << 12);
  EXPECT_TRUE(records[0].kills.empty());
}

TEST(RealRecords, OfAJournalThatLacksItsEnds) {
  const auto records = records_of("v1_journal_truncated.log");
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].host, "node-k");
  EXPECT_EQ(records[0].scope, Scope::kGroup);
  EXPECT_EQ(records[0].memory, (Usage{1048576ULL << 10, 1048576ULL << 10, 141}));
  EXPECT_EQ(records[0].swap->limit_bytes, std::nullopt);
}

TEST(RealRecords, OfMemoryAndSwapTogether) {
  const auto records = records_of("v1_sum.log");
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].memory->failures, 189U);
  EXPECT_EQ(records[0].victim_group, "/kubepods.slice/kubepods-pod0330b2c1.slice/docker-b2720133.scope");
}

TEST(RealRecords, OfAnEnterpriseKernelWithTheUserInBetween) {
  const auto records = records_of("rhel_uid.log");
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].scope, Scope::kGroup);
  EXPECT_EQ(records[0].kills.at(0).pid, 18177);
  EXPECT_EQ(records[0].kills.at(0).uid, 0U);
  EXPECT_EQ(records[0].kills.at(0).anon_bytes, 45563572ULL << 10);
}

TEST(RealRecords, OfNestedGroups) {
  const auto records = records_of("nested_group.log");
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].time, "Aug 30 06:58:55.050705");
  EXPECT_TRUE(records[0].victim_group.starts_with(records[0].limited_group + "/"));
  EXPECT_EQ(records[0].allowed_nodes, "0-1");
  EXPECT_EQ(records[0].kills.at(0).name, "pt_main_thread");
  EXPECT_FALSE(records[0].kills.at(0).measured);
}

TEST(RealRecords, OfALogThatWasFilteredForItsLastLines) {
  const auto records = records_of("machine_reth.log");
  ASSERT_THAT(records, SizeIs(4));
  EXPECT_EQ(records[3].scope, Scope::kMachine);
  EXPECT_EQ(records[3].uptime, "4268503.040666");
  EXPECT_EQ(records[3].kills.at(0).page_table_bytes, 1275744ULL << 10);
  EXPECT_EQ(records[3].kills.at(0).total_vm_bytes, 5065120296ULL << 10);
  EXPECT_THAT(records_of("only_constraints.log"), SizeIs(2));
  EXPECT_EQ(records_of("only_constraints.log").at(1).kills.at(0).pid, 7135);
}

TEST(RealRecords, OfAThreadThatAskedForAnotherProcess) {
  const auto records = records_of("machine_lighthouse.log");
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].invoked_by, "tokio-runtime-w");
  EXPECT_EQ(records[0].request, "GFP_HIGHUSER_MOVABLE|__GFP_ZERO");
  EXPECT_EQ(records[0].kills.at(0).name, "current-lightho");
}

TEST(RealRecords, WithTheColumnsOfNewKernels) {
  const auto records = records_of("machine_new_table.log");
  ASSERT_THAT(records, SizeIs(1));
  ASSERT_THAT(records[0].tasks, SizeIs(4));
  EXPECT_EQ(records[0].tasks[2].anon_bytes, 11203232ULL << 12);
  EXPECT_EQ(records[0].tasks[2].page_table_bytes, 118214656U);
  EXPECT_EQ(records[0].tasks[1].shmem_bytes, 5649ULL << 12);
}

TEST(RealRecords, OfKernel618AndAGroupOfVersion1) {
  const auto records = records_of("v1_6.18.log");
  ASSERT_THAT(records, SizeIs(1));
  const Record& record = records[0];
  EXPECT_EQ(record.invoked_by, "hog");
  EXPECT_EQ(record.limited_group, "/lab/run-7");
  EXPECT_EQ(record.memory, (Usage{49152 << 10, 49152 << 10, 24}));
  EXPECT_EQ(record.memory_and_swap->limit_bytes, std::nullopt);
  EXPECT_EQ(value_of(record.group_bytes, "rss"), 50012160U);
  EXPECT_EQ(value_of(record.group_bytes, "total_rss"), 50012160U);
  EXPECT_EQ(record.kills.at(0).anon_bytes, 48640 << 10);
}

TEST(RealRecords, OfKernel618AndTheWholeMachine) {
  const auto records = records_of("machine_6.18.log");
  ASSERT_THAT(records, SizeIs(1));
  const Record& record = records[0];
  EXPECT_EQ(record.scope, Scope::kMachine);
  EXPECT_EQ(record.ram_bytes, 6291358ULL << 12);
  EXPECT_EQ(record.total_swap_bytes, 0U);
  EXPECT_EQ(value_of(record.machine_bytes, "inactive_anon"), 6005173ULL << 12);
  EXPECT_EQ(value_of(record.machine_bytes, "slab_unreclaimable"), 10098ULL << 12)
      << "lines of a message of several have nothing in front of them";
  EXPECT_EQ(record.kills.at(0).name, "symbolize_test");
  EXPECT_THAT(record.tasks, testing::Contains(testing::Field(&Task::rss_bytes, 5972541ULL << 12)));
}

TEST(RealRecords, OfOldKernels) {
  const auto records = records_of("old_3.2.log");
  ASSERT_THAT(records, SizeIs(3)) << "the first is of another machine than the two after it";
  EXPECT_EQ(records[0].invoked_by, "rethinkdb");
  EXPECT_EQ(records[0].host, "node-r");
  EXPECT_EQ(records[1].kills.at(0).pid, 11912) << "the child of the one that was chosen";
  EXPECT_TRUE(records[2].kills.empty());
}

TEST(RealRecords, WithBracketsInNames) {
  const auto records = records_of("odd_names.log");
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_EQ(records[1].kills.at(0).name, "(resolved)");
  EXPECT_TRUE(records[1].kills.at(0).reaped);
  EXPECT_EQ(records[2].tasks.at(0).name, "Isolated Web Co");
  EXPECT_EQ(records[2].tasks.at(1).total_vm_bytes, 1079074616ULL << 12) << "four terabytes mapped";
}

TEST(RealRecords, OfAMachineThatPanics) {
  const auto records = records_of("panic.log");
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_TRUE(records[0].panicked);
  EXPECT_TRUE(records[0].asked_for);
}

TEST(RealRecords, WithoutAKillableProcess) {
  const auto records = records_of("nobody.log");
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_TRUE(records[0].nobody_left);
  EXPECT_EQ(records[0].scope, Scope::kUnknown) << "the same words for a group and for the machine";
  EXPECT_EQ(records[1].invoked_by, "systemd");
}

}  // namespace
}  // namespace fathom::oom
