#include "tools/oom/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::oom {
namespace {

using testing::SizeIs;

constexpr const char* kWhole =
    R"([   10.000001] db invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
[   10.000002] CPU: 1 UID: 0 PID: 700 Comm: db Not tainted 6.18.44 #1 PREEMPT(full)
[   10.000003] memory: usage 204800kB, limit 204800kB, failcnt 36
[   10.000004] swap: usage 0kB, limit 0kB, failcnt 0
[   10.000005] Memory cgroup stats for /a:
[   10.000005] anon 205520896
[   10.000005] file 1048576
[   10.000005] kernel_stack 16384
[   10.000006] Memory cgroup stats for /a/b:
[   10.000006] anon 1
[   10.000007] Tasks state (memory values in pages):
[   10.000008] [  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name
[   10.000009] [    700]     0   700    76800    50500    50000      400       100   450560        7             5 db
[   10.000010] [    701]     0   701      600      200      100      100         0    40960        0         -1000 sh
[   10.000011] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b,task=db,pid=700,uid=0
[   10.000012] Memory cgroup out of memory: Killed process 700 (db) total-vm:307200kB, anon-rss:200000kB, file-rss:1600kB, shmem-rss:400kB, UID:0 pgtables:440kB oom_score_adj:5
[   10.000013] oom_reaper: reaped process 700 (db), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB
)";

TEST(Records, WholeOneHasAllThatItsLinesSay) {
  const auto records = read_records(kWhole);
  ASSERT_THAT(records, SizeIs(1));
  const Record& record = records[0];
  EXPECT_EQ(record.uptime, "10.000001");
  EXPECT_EQ(record.invoked_by, "db");
  EXPECT_EQ(record.request, "GFP_KERNEL");
  EXPECT_EQ(record.order, 0);
  EXPECT_EQ(record.scope, Scope::kGroup);
  EXPECT_EQ(record.limited_group, "/a");
  EXPECT_EQ(record.victim_group, "/a/b");
  EXPECT_EQ(record.memory, (Usage{204800 << 10, 204800 << 10, 36}));
  EXPECT_EQ(record.swap, (Usage{0, 0, 0}));
  EXPECT_EQ(value_of(record.group_bytes, "anon"), 205520896)
      << "of the group whose limit was met, not of one below it";
  EXPECT_EQ(value_of(record.group_bytes, "kernel_stack"), 16384);
  ASSERT_THAT(record.kills, SizeIs(1));
  EXPECT_EQ(record.kills[0], (Kill{.pid = 700,
                                   .name = "db",
                                   .measured = true,
                                   .total_vm_bytes = 307200 << 10,
                                   .anon_bytes = 200000 << 10,
                                   .file_bytes = 1600 << 10,
                                   .shmem_bytes = 400 << 10,
                                   .page_table_bytes = 440 << 10,
                                   .uid = 0,
                                   .oom_score_adj = 5,
                                   .reaped = true}));
  ASSERT_THAT(record.tasks, SizeIs(2));
  EXPECT_EQ(record.tasks[0], (Task{.pid = 700,
                                   .tgid = 700,
                                   .uid = 0,
                                   .total_vm_bytes = 76800 << 12,
                                   .rss_bytes = 50500 << 12,
                                   .page_table_bytes = 450560,
                                   .swap_bytes = 7 << 12,
                                   .anon_bytes = 50000 << 12,
                                   .file_bytes = 400 << 12,
                                   .shmem_bytes = 100 << 12,
                                   .oom_score_adj = 5,
                                   .name = "db"}));
  EXPECT_EQ(record.tasks[1].oom_score_adj, -1000);
}

TEST(Records, EveryPrefixGivesWhatIsThere) {
  const std::string_view whole = kWhole;
  const auto all = read_records(whole);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto records = read_records(whole.substr(0, size));
    ASSERT_LE(records.size(), 1U) << size;
    if (records.empty()) continue;
    EXPECT_LE(records[0].tasks.size(), 2U);
    if (!records[0].kills.empty() && records[0].kills[0].measured) {
      EXPECT_EQ(records[0].memory, all[0].memory);
    }
  }
}

TEST(Records, WithoutItsFirstLinesIsStillOne) {
  std::string_view rest = kWhole;
  while (true) {
    rest.remove_prefix(rest.find('\n') + 1);
    if (rest.find("oom-kill:") == std::string_view::npos) break;
    const auto records = read_records(rest);
    ASSERT_THAT(records, SizeIs(1)) << rest;
    EXPECT_EQ(records[0].kills.at(0).pid, 700);
    EXPECT_EQ(records[0].limited_group, "/a");
  }
}

TEST(Records, LinesOfOthersInItsMidstChangeNothing) {
  std::string noisy;
  std::string_view rest = kWhole;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n') + 1;
    noisy += rest.substr(0, end);
    noisy += "[   10.000001] usb 1-1: new high-speed USB device number 4\n[   10.000002] eth0: link 1000\n";
    rest.remove_prefix(end);
  }
  EXPECT_EQ(read_records(noisy), read_records(kWhole));
}

TEST(Records, OfTwoMachinesInOneLogStayApart) {
  const auto records = read_records(
      "Jan  1 00:00:01 one kernel: a invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0\n"
      "Jan  1 00:00:01 two kernel: b invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0\n"
      "Jan  1 00:00:01 one kernel: Out of memory: Killed process 1 (a) total-vm:8kB, anon-rss:4kB\n"
      "Jan  1 00:00:01 two kernel: Out of memory: Killed process 2 (b) total-vm:8kB, anon-rss:4kB\n");
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].host, "one");
  EXPECT_EQ(records[0].kills.at(0).name, "a");
  EXPECT_EQ(records[1].kills.at(0).name, "b");
}

TEST(Records, OfAWholeGroupHasAllThatWereKilled) {
  const auto records = read_records(
      "a invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
      "Memory cgroup out of memory: Killed process 7 (a) total-vm:8kB, anon-rss:4kB\n"
      "Tasks in /g are going to be killed due to memory.oom.group set\n"
      "Memory cgroup out of memory: Killed process 8 (sh) total-vm:8kB, anon-rss:4kB\n"
      "Memory cgroup out of memory: Killed process 7 (a) total-vm:8kB, anon-rss:4kB\n"
      "b invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n");
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_TRUE(records[0].whole_group);
  ASSERT_THAT(records[0].kills, SizeIs(2));
  EXPECT_EQ(records[0].kills[1].pid, 8);
}

TEST(Records, OfACpusetAndOfAMemoryPolicyNameTheNodes) {
  const auto cpuset = read_records(
      "oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=(null),cpuset=batch,mems_allowed=0,2-3,global_oom,task_"
      "memcg=/x,"
      "task=a,b,pid=12,uid=0\n");
  ASSERT_THAT(cpuset, SizeIs(1));
  EXPECT_EQ(cpuset[0].scope, Scope::kCpuset);
  EXPECT_EQ(cpuset[0].allowed_nodes, "0,2-3");
  EXPECT_EQ(cpuset[0].kills.at(0).name, "a,b") << "names may hold commas";
  EXPECT_FALSE(cpuset[0].kills.at(0).measured);
  const auto policy = read_records(
      "oom-kill:constraint=CONSTRAINT_MEMORY_POLICY,nodemask=1,cpuset=/"
      ",mems_allowed=0-1,global_oom,task_memcg=/,"
      "task=numa,pid=3,uid=0\n");
  EXPECT_EQ(policy.at(0).scope, Scope::kMemoryPolicy);
}

TEST(Records, OfTheSysRqKeyAreNotOutOfMemory) {
  const auto records = read_records(
      "sysrq: Manual OOM execution\n"
      "kworker/0:1 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=-1, oom_score_adj=0\n"
      "Out of memory: Killed process 5 (x) total-vm:8kB, anon-rss:4kB\n");
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_TRUE(records[0].asked_for);
  EXPECT_EQ(records[0].kills.at(0).pid, 5);
}

TEST(Records, OfLargerPagesAreMeasuredByTheKill) {
  const auto records = read_records(
      "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"
      "[    5]     0     5     1000      100    65536        2             0 x\n"
      "Out of memory: Killed process 5 (x) total-vm:64000kB, anon-rss:6400kB\n");
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].tasks.at(0).rss_bytes, 100 * 65536);
  EXPECT_EQ(records[0].tasks.at(0).page_table_bytes, 65536) << "these are bytes";
}

TEST(Records, WhatIsPrintedOfMemoryWithoutAKillIsNoRecord) {
  EXPECT_THAT(read_records("java: page allocation failure: order:4, mode:0x40d0\nMem-Info:\n"
                           "active_anon:1 inactive_anon:2 isolated_anon:0\nFree swap  = 0kB\nTotal swap = "
                           "0kB\n6288 pages RAM\n"),
              SizeIs(0));
  EXPECT_THAT(read_records("app: Killed process tree 12 (x)\n"), SizeIs(0));
}

TEST(Records, NumbersThatAreTooLargeSaturate) {
  const auto records = read_records(
      "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"
      "[    5]     0     5 18446744073709551615 18446744073709551615 1 1 0 x\n"
      "Out of memory: Killed process 5 (x) total-vm:18446744073709551615kB, "
      "anon-rss:99999999999999999999kB\n");
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].tasks.at(0).rss_bytes, ~std::uint64_t{0});
  EXPECT_EQ(records[0].kills.at(0).total_vm_bytes, ~std::uint64_t{0});
}

TEST(Records, OfALongLogAreTheLast) {
  std::string log;
  for (std::size_t i = 0; i < kMostRecords + 3; ++i)
    log += "Out of memory: Killed process " + std::to_string(i) + " (x) total-vm:8kB, anon-rss:4kB\n";
  const auto records = read_records(log);
  ASSERT_THAT(records, SizeIs(kMostRecords));
  EXPECT_EQ(records.front().kills.at(0).pid, 3);
  EXPECT_EQ(records.back().kills.at(0).pid, static_cast<std::int64_t>(kMostRecords + 2));
}

}  // namespace
}  // namespace fathom::oom
