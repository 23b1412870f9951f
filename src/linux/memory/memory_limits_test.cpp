#include "linux/memory/memory_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace fathom::sources {
namespace {

TEST(Limits, OfAProcessAreItsSoftOnes) {
  const ProcessLimits limits = parse_process_limits(
      "Limit                     Soft Limit           Hard Limit           Units     \n"
      "Max data size             unlimited            unlimited            bytes     \n"
      "Max address space         1073741824           unlimited            bytes     \n"
      "Max file locks            unlimited            unlimited            locks     \n");
  EXPECT_EQ(limits, (ProcessLimits{1073741824, std::nullopt}));
  EXPECT_EQ(parse_process_limits("Max address space"), ProcessLimits{});
  EXPECT_EQ(parse_process_limits(""), ProcessLimits{});
}

TEST(Limits, OfTheMachineAreInKilobytes) {
  EXPECT_EQ(
      parse_meminfo("MemTotal:       24000 kB\nMemFree:  1 kB\nMemAvailable:   20000 kB\nSwapTotal: 8 kB\n"
                    "SwapFree: 4 kB\n"),
      (MachineMemory{24000 << 10, 20000 << 10, 8 << 10, 4 << 10}));
  EXPECT_EQ(parse_meminfo("MemTotal: 99999999999999999999 kB\nMemAvailable: -1 kB\n"), MachineMemory{});
}

TEST(Limits, MemoryOfAGroupIsReportedInBothVersions) {
  EXPECT_EQ(parse_group_memory(
                "cache 9\nrss 1\ntotal_rss 4096\ntotal_active_file 100\ntotal_inactive_file 20\n", 1),
            (GroupMemory{4096, 120, {}, {}, {}, {}}));
  EXPECT_EQ(parse_group_memory("anon 4096\nfile 500\nkernel 30\nkernel_stack 5\npagetables 7\nslab 3\n"
                               "inactive_file 20\nactive_file 100\n",
                               2),
            (GroupMemory{4096, 120, 30, 7, 5, 3}));
  EXPECT_EQ(
      parse_group_memory("anon many\nactive_file 18446744073709551615\ninactive_file 1\n", 2).page_cache,
      UINT64_MAX);
}

// A cache that fills a group kills no process: only memory that the kernel cannot reclaim counts.
TEST(Limits, RoomLeavesOutWhatTheKernelTakesBack) {
  const MemoryLimit group{LimitKind::kControlGroup, "/a", 1000, 990, 700};
  EXPECT_EQ(group.room(), 710u);
  EXPECT_EQ((MemoryLimit{LimitKind::kControlGroup, "/a", 1000, 2000, 0}).room(), 0u);
  EXPECT_EQ((MemoryLimit{LimitKind::kControlGroup, "/a", 1000, 10, 20}).room(), 1000u);
  const std::vector<MemoryLimit> limits{group, {LimitKind::kMachine, "", 5000, 4500, 0}};
  ASSERT_NE(first_to_be_met(limits), nullptr);
  EXPECT_EQ(first_to_be_met(limits)->kind, LimitKind::kMachine);
  EXPECT_EQ(first_to_be_met({}), nullptr);
}

TEST(Limits, OfThisProcessHaveTheMachineAmongThem) {
  const Limits read = read_limits(::getpid(), 1 << 30);
  ASSERT_FALSE(read.limits.empty());
  EXPECT_EQ(read.limits.back().kind, LimitKind::kMachine);
  EXPECT_GT(read.limits.back().limit, read.limits.back().room());
  EXPECT_GT(read.limits.back().room(), 0u);
}

}  // namespace
}  // namespace fathom::sources
