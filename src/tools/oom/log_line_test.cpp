#include "tools/oom/log_line.h"

#include <gtest/gtest.h>

namespace fathom::oom {
namespace {

TEST(LogLine, OfDmesgHasSecondsSinceBoot) {
  const LogLine line = read_log_line("[   93.216000] java invoked oom-killer: gfp_mask=0xd0");
  EXPECT_EQ(line.uptime, "93.216000");
  EXPECT_EQ(line.message, "java invoked oom-killer: gfp_mask=0xd0");
  EXPECT_EQ(line.time, "");
}

TEST(LogLine, OfDmesgWithHumanTimesHasADate) {
  const LogLine line = read_log_line("[Thu Dec  7 00:05:15 2017] [28438]     0 28438  5063909 java\r");
  EXPECT_EQ(line.time, "Thu Dec  7 00:05:15 2017");
  EXPECT_EQ(line.message, "[28438]     0 28438  5063909 java") << "the first number of a row is no time";
}

TEST(LogLine, OfAJournalHasHostAndTime) {
  const LogLine line = read_log_line("Jun 29 07:24:44 node-k kernel: memory: usage 1048576kB");
  EXPECT_EQ(line.time, "Jun 29 07:24:44");
  EXPECT_EQ(line.host, "node-k");
  EXPECT_EQ(line.message, "memory: usage 1048576kB");
  EXPECT_EQ(read_log_line("Feb 23 23:06:06.748577 node-l kernel: x").time, "Feb 23 23:06:06.748577");
  EXPECT_EQ(read_log_line("2026-11-23T14:00:00+0000 node-l kernel: x").time, "2026-11-23T14:00:00+0000");
}

TEST(LogLine, OfACollectorMayHaveABlankInItsDateAndQuotesAroundIt) {
  EXPECT_EQ(read_log_line("2026-03-05 10:11:12.381\t[   97.38] a").time, "2026-03-05 10:11:12.381");
  EXPECT_EQ(read_log_line("2026-03-05 10:11:12.381\t[   97.38] a").message, "a");
  const LogLine row = read_log_line(R"("2026-03-05T10:11:12Z","host","kernel: Out of memory")");
  EXPECT_EQ(row.time, "2026-03-05T10:11:12Z");
  EXPECT_EQ(row.host, "");
}

TEST(LogLine, OfSyslogMayHaveBoth) {
  const LogLine line = read_log_line("May 15 23:09:30 node-o kernel: [  518.050606] Out of memory");
  EXPECT_EQ(line.host, "node-o");
  EXPECT_EQ(line.uptime, "518.050606");
  EXPECT_EQ(line.message, "Out of memory");
}

TEST(LogLine, OfDevKmsgHasMicroseconds) {
  EXPECT_EQ(read_log_line("6,1234,93216000,-;a b").uptime, "93.216000");
  EXPECT_EQ(read_log_line("6,1234,42,-;a b").uptime, "0.000042");
  EXPECT_EQ(read_log_line("4,1,5000001,c,caller=T12;a; b").message, "a; b");
}

TEST(LogLine, WithTheThreadThatPrintedItIsTheSameLine) {
  EXPECT_EQ(read_log_line("[   12.000001][ T1234] a").message, "a");
  EXPECT_EQ(read_log_line("[   12.000001] [    C3] a").message, "a");
}

TEST(LogLine, OfAConsoleHasItsPrefixTakenOff) {
  const LogLine line =
      read_log_line("2023-12-04T10:49:30.127Z In(05) vcpu-5 - Guest: <6>[39291577.009360] Tasks state");
  EXPECT_EQ(line.time, "2023-12-04T10:49:30.127Z");
  EXPECT_EQ(line.uptime, "39291577.009360");
  EXPECT_EQ(line.message, "Tasks state");
}

TEST(LogLine, WithDifferencesInsteadOfTimesHasNoTime) {
  const LogLine line = read_log_line("[  +0.000067] CPU: 3 PID: 351");
  EXPECT_EQ(line.uptime, "");
  EXPECT_EQ(line.message, "CPU: 3 PID: 351");
}

TEST(LogLine, WithoutAnythingInFrontIsTheMessage) {
  EXPECT_EQ(read_log_line("Killed process 12 (a)").message, "Killed process 12 (a)");
  EXPECT_EQ(read_log_line("kernel: Killed process 12 (a)").message, "Killed process 12 (a)");
  EXPECT_EQ(read_log_line("> Killed process 12 (a)").message, "Killed process 12 (a)");
  EXPECT_EQ(read_log_line("").message, "");
  EXPECT_EQ(read_log_line("[").message, "[");
}

}  // namespace
}  // namespace fathom::oom
