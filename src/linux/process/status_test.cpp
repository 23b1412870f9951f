#include "linux/process/status.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "linux/process/threads.h"

namespace fathom::process {
namespace {

constexpr const char* kStatus =
    "Name:\tapp) R 1\n"
    "Umask:\t0022\n"
    "State:\tS (sleeping)\n"
    "Tgid:\t4711\n"
    "Ngid:\t0\n"
    "Pid:\t4711\n"
    "PPid:\t12\n"
    "TracerPid:\t99\n"
    "Uid:\t1000\t0\t1000\t1000\n"
    "NSpid:\t4711\t7\t1\n"
    "VmPeak:\t  300000 kB\n"
    "VmSize:\t  200000 kB\n"
    "VmHWM:\t   90000 kB\n"
    "RssAnon:\t   40000 kB\n"
    "RssFile:\t   20000 kB\n"
    "RssShmem:\t      12 kB\n"
    "VmPTE:\t     316 kB\n"
    "VmSwap:\t       8 kB\n"
    "Threads:\t17\n"
    "CapEff:\t000000c000000000\n"
    "NoNewPrivs:\t1\n"
    "Seccomp:\t2\n";

TEST(Status, FieldsThatWeUse) {
  const auto status = parse_status(kStatus);
  ASSERT_TRUE(status);
  EXPECT_EQ(*status, (Status{.name = "app) R 1",
                             .state = 'S',
                             .pid = 4711,
                             .parent_pid = 12,
                             .tracer_pid = 99,
                             .uid = 1000,
                             .effective_uid = 0,
                             .namespace_pids = {4711, 7, 1},
                             .threads = 17,
                             .seccomp = 2,
                             .no_new_privileges = true,
                             .effective_capabilities = 0xc000000000,
                             .rss_anon = 40000 * 1024,
                             .rss_file = 20000 * 1024,
                             .rss_shmem = 12 * 1024,
                             .swap = 8 * 1024,
                             .page_tables = 316 * 1024,
                             .rss_peak = 90000 * 1024,
                             .virtual_size = 200000 * 1024}));
}

TEST(Status, NameCannotForgeALine) {
  const auto status = parse_status("Name:\tx\\nTgid:\\t1\nTgid:\t5\n");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->name, "x\nTgid:\\t1");
  EXPECT_EQ(status->pid, 5);
}

TEST(Status, KernelThreadHasNoMemory) {
  const auto status = parse_status("Name:\tkthreadd\nTgid:\t2\nThreads:\t1\n");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->rss_anon + status->rss_file + status->rss_shmem, 0u);
}

TEST(Status, TextWithoutPidIsRefused) {
  EXPECT_FALSE(parse_status("Name:\tx\n"));
}

constexpr const char* kStat =
    "4711 (a (b) c) S 12 4711 4711 0 -1 4194304 1500 9 33 2 250 125 1 1 20 0 17 0 987654 204800000 15000 "
    "18446744073709551615 1 1 0 0 0 0 0 4096 17642 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

TEST(Stat, NameEndsAtTheLastParenthesis) {
  const auto stat = parse_stat(kStat);
  ASSERT_TRUE(stat);
  EXPECT_EQ(*stat, (Stat{.pid = 4711,
                         .parent_pid = 12,
                         .name = "a (b) c",
                         .state = 'S',
                         .minor_faults = 1500,
                         .major_faults = 33,
                         .user_ticks = 250,
                         .system_ticks = 125,
                         .start_ticks = 987654}));
}

TEST(Stat, KernelThreadIsRecognizedByItsFlag) {
  const auto stat = parse_stat("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 3 0 0 20 0 1 0 5 0 0\n");
  ASSERT_TRUE(stat);
  EXPECT_TRUE(stat->kernel_thread);
}

TEST(Stat, AnEndingProcessIsRecognizedByItsFlagAndByAPendingKill) {
  const auto of_flags = [](std::string_view flags) {
    return parse_stat(fmt::format("7 (a) R 1 7 7 0 -1 {} 0 0 0 0 0 0 0 0 20 0 1 0 1", flags)).value().exiting;
  };
  EXPECT_TRUE(of_flags("4194564"));   // 0x400104
  EXPECT_FALSE(of_flags("4194560"));  // 0x400100
  const auto killed = [](std::string_view pending) {
    return parse_status(fmt::format("Tgid:\t7\nSigPnd:\t{}\nShdPnd:\t0000000000000000\n", pending))
        .value()
        .killed;
  };
  EXPECT_TRUE(killed("0000000000000100"));
  EXPECT_FALSE(killed("0000000000004000")) << "SIGTERM";
  EXPECT_FALSE(is_ending(::getpid()));
  EXPECT_TRUE(is_ending(0x7fffffff)) << "gone";
}

TEST(Status, InAPidNamespaceOfOurOwnNumbersAreNotTheKernels) {
  const pid_t outer = ::fork();
  if (outer == 0) {
    const bool before = has_numbers_of_the_kernel();
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(9);
    const pid_t inner = ::fork();
    if (inner == 0) ::_exit(has_numbers_of_the_kernel() ? 1 : 0);
    int status = 0;
    ::waitpid(inner, &status, 0);
    ::_exit(WEXITSTATUS(status) + (before ? 2 : 0));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(outer, &status, 0), outer);
  if (WEXITSTATUS(status) == 9) GTEST_SKIP() << "needs the right to make a pid namespace";
  EXPECT_EQ(WEXITSTATUS(status) & 1, 0);
  EXPECT_EQ((WEXITSTATUS(status) & 2) != 0, has_numbers_of_the_kernel());
}

TEST(Stat, CutTextIsRefused) {
  const std::string_view text = kStat;
  for (const std::size_t n : {0, 4, 10, 16, 40}) EXPECT_FALSE(parse_stat(text.substr(0, n))) << n;
}

TEST(Stat, OwnStartIsInThePast) {
  const auto stat = read_stat(::getpid());
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent_pid, ::getppid());
  EXPECT_LE(start_time_ns(*stat), monotonic_ns());
  EXPECT_GT(start_time_ns(*stat), monotonic_ns() - 600'000'000'000);
}

TEST(Memory, TouchedPagesAreSeenInOwnResidentSet) {
  const auto before = read_memory(::getpid());
  std::vector<char> touched(64 << 20, 'x');
  const auto after = read_memory(::getpid());
  ASSERT_TRUE(before && after);
  EXPECT_GT(after->rss_anon, before->rss_anon + (60 << 20)) << touched.back();
  EXPECT_GT(after->minor_faults, before->minor_faults);
  EXPECT_GT(after->rss_file, 0u);
}

TEST(Threads, OwnMainThreadIsListedByName) {
  ASSERT_EQ(::prctl(PR_SET_NAME, "we (are) it"), 0);
  const auto threads = read_threads(::getpid());
  ASSERT_TRUE(threads);
  EXPECT_EQ(threads->front(), (ThreadInfo{::getpid(), "we (are) it"}));
  EXPECT_EQ(read_stat(::getpid())->name, "we (are) it");
}

TEST(Threads, SchedstatHoldsThreeNumbers) {
  EXPECT_EQ(parse_schedstat("123456789 42 7\n"), (SchedulerTimes{123456789, 42, 7}));
  EXPECT_FALSE(parse_schedstat("123456789 42\n"));
  EXPECT_FALSE(parse_schedstat(""));
  EXPECT_FALSE(parse_schedstat("a b c\n"));
}

TEST(Threads, CpuTimeGrowsWithWork) {
  const auto before = read_schedstat(::getpid(), ::getpid());
  const std::uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 30'000'000;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
  const auto after = read_schedstat(::getpid(), ::getpid());
  ASSERT_TRUE(before && after);
  EXPECT_GE(after->ran_ns - before->ran_ns, 20'000'000u);
}

}  // namespace
}  // namespace fathom::process
