#include "tools/oom/service_kill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tools/oom/explanation.h"
#include "tools/oom/records.h"

namespace fathom::oom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ServiceKill, OfSystemdOomdByPressureNamesTheGroupThatWaited) {
  const auto records = read_records(
      "Nov 20 10:11:12 box systemd-oomd[812]: Killed /system.slice/indexer.service due to memory pressure for "
      "/system.slice being 66.31% > 50.00% for > 20s with reclaim activity\n"
      "Nov 20 10:11:12 box systemd[1]: indexer.service: systemd-oomd killed 14 process(es) in this unit.\n");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].time, "Nov 20 10:11:12");
  EXPECT_EQ(records[0].host, "box");
  const Explanation told = explain(records[0]);
  EXPECT_EQ(told.who, "/system.slice/indexer.service was killed by systemd-oomd");
  EXPECT_THAT(
      told.why,
      ElementsAre("tasks of /system.slice waited for memory 66.31 % of the time, more than 50 % for 20s",
                  "the kernel itself had not run out of memory"));
  EXPECT_THAT(told.remedies.at(0), HasSubstr("--unit indexer.service"));
}

TEST(ServiceKill, OfSystemdOomdByUseNamesMemoryAndSwap) {
  const auto record = read_service_kill(
      "2026-11-20T10:11:12+0100 box systemd-oomd[812]: Killed /system.slice/a b.service due to memory used (966367641) / "
      "total (1073741824) and swap used (2040109465) / total (2147483648) being more than 90.00%");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->victim_group, "/system.slice/a b.service");
  EXPECT_EQ(explain(*record).why.at(0),
            "921.6 MiB of 1.0 GiB of memory and 1.9 GiB of 2.0 GiB of swap were used, more than 90 % of it");
}

TEST(ServiceKill, OfEarlyoomNamesTheProcessAndItsSize) {
  for (const std::string score : {"badness 845", "oom_score 1150"}) {
    const auto record = read_service_kill(
        "Nov 20 10:11:12 box earlyoom[812]: sending SIGTERM to process 7134 uid 1000 \"a \\\"b\": " + score +
        ", VmRSS 14035 MiB, cmdline \"a\"");
    ASSERT_TRUE(record);
    ASSERT_EQ(record->kills.size(), 1U);
    EXPECT_EQ(record->kills[0].pid, 7134);
    EXPECT_EQ(record->kills[0].name, "a \\\"b");
    const Explanation told = explain(*record);
    EXPECT_THAT(told.who, HasSubstr("(pid 7134) was killed by earlyoom"));
    EXPECT_EQ(told.resident_bytes, std::uint64_t{14035} << 20);
  }
}

TEST(ServiceKill, OfEarlyoomIsOneRecordOfTwoSignals) {
  const auto records = read_records(
      "mem avail:  321 of 24105 MiB ( 1.33%), swap free:    0 of    0 MiB ( 0.00%)\n"
      "low memory! at or below SIGTERM limits: mem 10.00%, swap 10.00%\n"
      "sending SIGTERM to process 3098 uid 0 \"cc1plus\": badness 680, VmRSS 513 MiB\n"
      "sending SIGKILL to process 3098 uid 0 \"cc1plus\": badness 680, VmRSS 513 MiB\n");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(explain(records[0]).why.at(0),
            "23.2 GiB of 23.5 GiB of memory were used, more than the service allows");
}

TEST(ServiceKill, OfADryRunIsNone) {
  EXPECT_THAT(read_records("sending SIGTERM to process 3098 uid 0 \"cc1plus\": badness 680, VmRSS 513 MiB\n"
                           "dryrun, not actually sending any signal\n"),
              testing::IsEmpty());
}

TEST(ServiceKill, IsNoOtherLine) {
  for (const char* line :
       {"Killed process 7 (a) total-vm:1kB", "Killed /bin/sh", "box make: Killed /usr/bin/cc due to memory",
        "sending SIGTERM to all", "sending SIGTERM to process 99999999999 uid 0 \"a\": b", ""})
    EXPECT_FALSE(read_service_kill(line)) << line;
}

TEST(ServiceKill, DoesNotTakeTheRecordOfTheKernelAfterIt) {
  const auto records = read_records(
      "Nov 20 10:11:12 box earlyoom[8]: sending SIGKILL to process 7 uid 0 \"a\": badness 1, VmRSS 5 MiB\n"
      "Nov 20 10:11:13 box kernel: Out of memory: Killed process 9 (b) total-vm:9kB, anon-rss:8kB, file-rss:0kB\n");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].kills.at(0).name, "a");
  EXPECT_EQ(records[1].kills.at(0).name, "b");
  EXPECT_FALSE(records[1].service);
}

}  // namespace
}  // namespace fathom::oom
