#include "tools/stacks/live/blocked_since.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "base/files.h"

namespace fathom::stacks {
namespace {

TEST(BlockedSince, ReadsTheTimeInNanoseconds) {
  EXPECT_EQ(
      parse_exec_start(
          "x (1, #threads: 1)\n---\nse.exec_start      :      56050845.257919\nse.vruntime : 1.000000\n"),
      56'050'845'257'919u);
}

TEST(BlockedSince, OtherTextHasNoTime) {
  for (const char* text :
       {"", "se.exec_start", "se.exec_start : ", "se.exec_start : 12", "se.exec_start : 1.5",
        "se.exec_start : 0.000000", "se.exec_start : -1.000000", "se.exec_start : 1.00000x",
        "se.exec_start : 99999999999999999999.000000", "se.vruntime : 1.000000"})
    EXPECT_EQ(parse_exec_start(text), std::nullopt) << text;
}

TEST(BlockedSince, TheLastCpuIsField39AlsoAfterANameWithParentheses) {
  std::string stat = "12 (a) b) S";
  for (int field = 4; field <= 52; ++field) stat += " " + std::to_string(field);
  EXPECT_EQ(parse_last_cpu(stat), 39);
  EXPECT_EQ(parse_last_cpu("12 (a) S 1 2"), std::nullopt);
  EXPECT_EQ(parse_last_cpu("12"), std::nullopt);
}

TEST(BlockedSince, KnowsForHowLongAThreadHasSlept) {
  if (const auto text = read_file("/proc/thread-self/sched"); !text || !parse_exec_start(*text))
    GTEST_SKIP() << "this kernel does not show when a thread last ran";
  std::atomic<int> tid = 0;
  std::atomic<bool> ends = false;
  std::atomic<std::uint64_t> began = 0;
  std::thread sleeper([&] {
    began = monotonic_ns();
    tid = static_cast<int>(::syscall(SYS_gettid));
    ends.wait(false);
  });
  while (tid == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  SchedulerClocks clocks;
  const auto slept = clocks.since_it_ran(::getpid(), tid);
  const double truth = static_cast<double>(monotonic_ns() - began) * 1e-9;
  ends = true;
  ends.notify_all();
  sleeper.join();
  ASSERT_TRUE(slept);
  EXPECT_NEAR(static_cast<double>(*slept) * 1e-9, truth, 0.05);
}

}  // namespace
}  // namespace fathom::stacks
