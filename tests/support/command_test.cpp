#include "support/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace fathom::support {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(Command, PassesInputAndKeepsOutputErrorsAndStatus) {
  const Outcome outcome = run({"sh", "-c", "cat; echo trouble >&2; exit 7"}, {.input = "hello"});
  EXPECT_EQ(outcome.output, "hello");
  EXPECT_EQ(outcome.errors, "trouble\n");
  EXPECT_EQ(outcome.exit_status, 7);
  EXPECT_EQ(outcome.signal, 0);
}

TEST(Command, NamesTheSignalThatEndedIt) {
  const Outcome outcome = run({"sh", "-c", "kill -SEGV $$"});
  EXPECT_EQ(outcome.exit_status, -1);
  EXPECT_EQ(outcome.signal, SIGSEGV);
}

TEST(Command, KillsWhatTakesTooLongTogetherWithItsChildren) {
  const Outcome outcome = run({"sh", "-c", "sleep 60 & echo $!; wait"}, {.limit = milliseconds(200)});
  EXPECT_TRUE(outcome.timed_out);
  const pid_t grandchild = std::stoi(outcome.output);
  EXPECT_TRUE(wait_until(
      [&] {
        return !run({"test", "-e", "/proc/" + std::to_string(grandchild) + "/exe"}).ok();
      },
      milliseconds(2000)));
}

TEST(Command, SaysWhatCouldNotBeStarted) {
  const Outcome outcome = run({"/no/such/program"});
  EXPECT_EQ(outcome.exit_status, 127);
  EXPECT_THAT(outcome.errors, HasSubstr("cannot start /no/such/program"));
}

TEST(Command, MeasuresCpuTimeAndMemory) {
  const Outcome outcome = run({"sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"});
  EXPECT_GT(outcome.cpu_seconds, 0.02);
  EXPECT_LT(outcome.cpu_seconds, outcome.seconds + 0.1);
  EXPECT_GT(outcome.peak_rss_bytes, 500'000u);
}

TEST(Running, IsKilledWhenTheObjectGoesAway) {
  pid_t pid = 0;
  {
    const Running running({"sleep", "60"});
    pid = running.pid();
    EXPECT_FALSE(running.finished());
  }
  EXPECT_NE(kill(pid, 0), 0);
}

}  // namespace
}  // namespace fathom::support
