#include "formats/perf_script/perf_script_lines.h"

#include <gtest/gtest.h>

namespace fathom::formats {
namespace {

TEST(PerfHeader, AllFieldsThatPerfPrints) {
  const auto header = parse_perf_header("redis-server 12/13 [001]  5.000123:  10101010 cpu-clock:u: ");
  ASSERT_TRUE(header);
  EXPECT_EQ(header->comm, "redis-server");
  EXPECT_EQ(header->pid, 12);
  EXPECT_EQ(header->tid, 13);
  EXPECT_EQ(header->cpu, 1);
  EXPECT_EQ(header->time_ns, 5'000'123'000u);
  EXPECT_EQ(header->period, 10101010);
  EXPECT_EQ(header->event, "cpu-clock:u");
  EXPECT_EQ(header->rest, "");
}

TEST(PerfHeader, MostFieldsMayBeMissing) {
  const auto header = parse_perf_header("java 19983 cycles:");
  ASSERT_TRUE(header);
  EXPECT_EQ(header->tid, 19983);
  EXPECT_EQ(header->pid, 0);
  EXPECT_FALSE(header->time_ns);
  EXPECT_FALSE(header->period);
  EXPECT_EQ(header->event, "cycles");
}

TEST(PerfHeader, NameOrIdsMayBeMissingWhereATimeIsThere) {
  const auto nameless = parse_perf_header("825432/825433 339457.445933440:       1 cycles:u: ");
  ASSERT_TRUE(nameless);
  EXPECT_EQ(nameless->comm, "");
  EXPECT_EQ(nameless->pid, 825432);
  EXPECT_EQ(nameless->tid, 825433);
  EXPECT_EQ(nameless->time_ns, 339'457'445'933'440u);
  EXPECT_EQ(nameless->period, 1);
  EXPECT_EQ(parse_perf_header("   77 [003] 1.5: cycles:")->tid, 77);
  const auto without_ids = parse_perf_header("tokio worker 3  100.5:     25000 cycles: ");
  ASSERT_TRUE(without_ids);
  EXPECT_EQ(without_ids->time_ns, 100'500'000'000u);
  EXPECT_EQ(without_ids->period, 25000);
  EXPECT_EQ(parse_perf_header("cc1 [001] 1.5: cycles:")->comm, "cc1");
  EXPECT_EQ(parse_perf_header("12 13 1.5: cycles:")->comm, "12") << "a program of that name";
  EXPECT_FALSE(parse_perf_header("bash-7 [001] 1.5: sched_switch: prev_comm=bash")) << "trace-cmd report";
}

TEST(PerfHeader, TheNameMayHoldSpacesNumbersAndColons) {
  EXPECT_EQ(parse_perf_header("tokio worker 3 77/78 [000] 1.5: 1 cycles: ")->comm, "tokio worker 3");
  EXPECT_EQ(parse_perf_header("tokio worker 3 77/78 [000] 1.5: 1 cycles: ")->tid, 78);
  EXPECT_EQ(parse_perf_header("kworker/u8:3 40 [002] 1.000001: cycles:")->comm, "kworker/u8:3");
  EXPECT_EQ(parse_perf_header("pool 1 2 3 9.25: 4 cycles:")->comm, "pool 1 2");
  EXPECT_EQ(parse_perf_header("      sleep 40 9.25: 4 cycles:")->comm, "sleep")
      << "padded, as without call chains";
  EXPECT_FALSE(parse_perf_header("goroutine 18 [semacquire, 5 minutes]:")) << "a dump of Go's goroutines";
  EXPECT_EQ(parse_perf_header(":-1 -1/-1 [000] 2.0: 1 cycles:")->tid, -1);
}

// Without a time two numbers may stand in front of the event: the end of a name and its tid, or a tid and a
// period.
TEST(PerfHeader, APeriodIsToldFromATidByItsColumn) {
  const auto named = parse_perf_header("cash desk 2 13861 cpu-clock:ppp: ");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->comm, "cash desk 2");
  EXPECT_EQ(named->tid, 13861);
  EXPECT_FALSE(named->period);
  const auto weighed = parse_perf_header("cash desk 13861      25000 cycles: ");
  ASSERT_TRUE(weighed);
  EXPECT_EQ(weighed->comm, "cash desk");
  EXPECT_EQ(weighed->tid, 13861);
  EXPECT_EQ(weighed->period, 25000);
}

TEST(PerfHeader, AFrameOrTracepointFieldsMayFollow) {
  EXPECT_EQ(parse_perf_header("sleep 40 9.25: 4 cycles:  7f00 main+0x3 (/bin/sleep)")->rest,
            "7f00 main+0x3 (/bin/sleep)");
  EXPECT_EQ(parse_perf_header("swapper 0 [001] 1.0: sched:sched_switch: prev_comm=a")->event,
            "sched:sched_switch");
}

TEST(PerfHeader, TimesAreExact) {
  EXPECT_EQ(parse_perf_header("a 1 1410597.984841: cycles:")->time_ns, 1'410'597'984'841'000u);
  EXPECT_EQ(parse_perf_header("a 1 0.000000001: cycles:")->time_ns, 1u);
}

TEST(PerfHeader, OtherLinesAreNone) {
  for (const char* line : {"", "   ", "# comment 12 cycles:", "main;f 12", "7f00 main (/bin/x)", "a 1",
                           "a b c:", "12 cycles:", "a 99999999999 cycles:", "a 1 123456789012345678901.5:"}) {
    EXPECT_FALSE(parse_perf_header(line)) << line;
  }
}

TEST(PerfFrame, OffsetIsCutAndModuleIsTheLastBracket) {
  const auto frame = parse_perf_frame("\t    7f44 std::f(int, char (*)(int))+0x1f (/usr/lib/libx.so)");
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->symbol, "std::f(int, char (*)(int))");
  EXPECT_EQ(frame->module, "/usr/lib/libx.so");
}

TEST(PerfFrame, OddModules) {
  EXPECT_EQ(parse_perf_frame("1 f (/tmp/x (deleted))")->module, "/tmp/x (deleted)");
  EXPECT_EQ(parse_perf_frame("1 f (/tmp/x (deleted))")->symbol, "f");
  EXPECT_EQ(parse_perf_frame("1 f (inlined)")->module, "inlined");
  EXPECT_EQ(parse_perf_frame("1 [unknown] ([unknown])")->symbol, "[unknown]");
  EXPECT_EQ(parse_perf_frame("1 (/bin/x)")->symbol, "[unknown]");
  EXPECT_EQ(parse_perf_frame("1 f")->module, "");
  EXPECT_EQ(parse_perf_frame("1 LazyCompile:*f /a/b c.js:12 (/tmp/perf-7.map)\r")->symbol,
            "LazyCompile:*f /a/b c.js:12");
  EXPECT_EQ(parse_perf_frame("1 f+0xzz (m)")->symbol, "f+0xzz");
}

TEST(PerfFrame, OtherLinesAreNone) {
  for (const char* line : {"", "   ", "f", "zz f (m)", "THIS_IS_A_LINE", "12345678901234567 f (m)", "abc"}) {
    EXPECT_FALSE(parse_perf_frame(line)) << line;
  }
}

}  // namespace
}  // namespace fathom::formats
