#include "tools/oom/kernel_log.h"

#include <gtest/gtest.h>

#include "tools/oom/records.h"

namespace fathom::oom {
namespace {

TEST(KernelLog, EscapedBytesOfDevKmsgAreTurnedBack) {
  EXPECT_EQ(unescape_kmsg("6,1,2,-;anon 1\\x0afile 2\n"), "6,1,2,-;anon 1\nfile 2\n");
  EXPECT_EQ(unescape_kmsg("a\\x5cb"), "a\\b");
  EXPECT_EQ(unescape_kmsg("\\x"), "\\x");
  EXPECT_EQ(unescape_kmsg("\\xzz1"), "\\xzz1");
}

TEST(KernelLog, StatisticsInOneMessageOfSeveralLinesAreRead) {
  const auto records =
      read_records(unescape_kmsg("6,10,93000000,-;memory: usage 8kB, limit 8kB, failcnt 1\n") +
                   unescape_kmsg("6,11,93000001,-;Memory cgroup stats for /a:\n") +
                   unescape_kmsg("6,12,93000002,-;anon 4096\\x0afile 8192\\x0akernel_stack 16384\n"));
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].uptime, "93.000000");
  EXPECT_EQ(value_of(records[0].group_bytes, "kernel_stack"), 16384);
}

}  // namespace
}  // namespace fathom::oom
