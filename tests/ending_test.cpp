// How a program ended that was recorded: the first line of the report says of each one how, and by which limit, and
// what was live then is not called unfreed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "support/control_group.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

class Endings : public testing::Test {
 protected:
  // The signal has a handler once it is blocked.
  static bool waits_to_be_told(pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigCgt:"))
        return (std::stoull(line.substr(7), nullptr, 16) >> (SIGUSR1 - 1) & 1) != 0;
    return false;
  }
  static Running start(const std::vector<std::string>& command) {
    Running program(command);
    EXPECT_TRUE(wait_until([&] { return waits_to_be_told(program.pid()); }, milliseconds(30'000)));
    return program;
  }
  static double resident_mib(pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
    return 0;
  }
  Outcome finish(Running& recorder) const {
    Outcome outcome = recorder.wait(milliseconds(60'000));
    EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
    return outcome;
  }
  std::string first_line() const {
    const std::string text = fathom({"report", recording_}).output;
    // It may be filled to the width of a line.
    return text.substr(0, text.find("\n\n"));
  }
  static std::string process(pid_t pid) { return "process " + std::to_string(pid) + " (eats_when_told) "; }

  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
};

std::string in_one_line(std::string text) {
  std::string out;
  for (const char c : text)
    if (c != '\n' && (c != ' ' || !out.ends_with(' ')))
      out += c;
    else if (!out.ends_with(' '))
      out += ' ';
  return out;
}

TEST_F(Endings, OfSeveralProgramsAreReportedForEach) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  Running killed = start({EATS_WHEN_TOLD, "16"}), crashed = start({EATS_WHEN_TOLD, "16"}),
          ended = start({EATS_WHEN_TOLD, "16"});
  const std::string all =
      std::to_string(killed.pid()) + "," + std::to_string(crashed.pid()) + "," + std::to_string(ended.pid());
  Running recorder = start_recording(recording_, {"--heap=exact", "-p", all});
  for (const Running* program : {&killed, &crashed, &ended}) {
    program->send(SIGUSR1);
    EXPECT_TRUE(wait_until([&] { return resident_mib(program->pid()) > 16; }, milliseconds(30'000)));
  }
  ended.send(SIGUSR2);
  crashed.send(SIGSEGV);
  killed.send(SIGKILL);
  finish(recorder);
  const std::string line = in_one_line(first_line());
  EXPECT_THAT(line, HasSubstr(process(killed.pid()) + "killed by SIGKILL"));
  EXPECT_THAT(line, HasSubstr(process(crashed.pid()) + "crashed: SIGSEGV"));
  EXPECT_THAT(line, Not(HasSubstr(process(ended.pid()))));

  const auto leaks_of = [&](const Running& program) {
    return in_one_line(fathom({"leaks", recording_, "--pid", std::to_string(program.pid())}).output);
  };
  EXPECT_THAT(leaks_of(killed), HasSubstr("live when SIGKILL ended it"));
  EXPECT_THAT(leaks_of(crashed), HasSubstr("live when SIGSEGV ended it"));
  EXPECT_THAT(leaks_of(ended), HasSubstr("never freed"));
  EXPECT_THAT(leaks_of(ended), Not(HasSubstr("ended it")));
}

TEST_F(Endings, OfAChildIsNotThatOfTheCommand) {
  FATHOM_NEEDS_BPF();
  const Outcome outcome =
      fathom({"record", "-o", recording_, "--", "/bin/sh", "-c", "sleep 60 & kill -KILL $!; wait; exit 0"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  const std::string line = in_one_line(first_line());
  EXPECT_THAT(line, HasSubstr("· process "));
  EXPECT_THAT(line, HasSubstr(" killed by SIGKILL"));
  EXPECT_THAT(line, Not(HasSubstr("· killed by SIGKILL")));
}

// The thread that takes the signal still has its stack then.
TEST_F(Endings, OfACrashShowTheStack) {
  FATHOM_NEEDS_BPF();
  const Outcome outcome = fathom({"record", "-o", recording_, "--", "/bin/sh", "-c", "kill -ABRT $$"});
  EXPECT_EQ(outcome.exit_status, 128 + SIGABRT) << outcome.describe();
  const std::string text = in_one_line(fathom({"report", recording_}).output);
  EXPECT_THAT(text, HasSubstr("crashed: SIGABRT in "));
  EXPECT_THAT(text, HasSubstr("kill <- "));
}

// The recording was of 9 ms, and no word said that the work was only about to begin.
TEST_F(Endings, OfACommandThatLeavesADaemonNamesIt) {
  FATHOM_NEEDS_BPF();
  const std::string pid_file = folder_ / "pid";
  const Outcome outcome = fathom({"record", "-o", recording_, "--", "/bin/sh", "-c",
                                  "sleep 600 </dev/null >/dev/null 2>&1 & echo $! >" + pid_file});
  pid_t daemon = 0;
  std::ifstream(pid_file) >> daemon;
  ASSERT_GT(daemon, 1);
  ::kill(daemon, SIGKILL);
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("a process that it started still runs"));
  EXPECT_THAT(outcome.errors, HasSubstr("record -p " + std::to_string(daemon)));
  EXPECT_THAT(in_one_line(fathom({"report", "--all", recording_}).output),
              HasSubstr("a process that it had started still ran"));
  const Outcome alone = fathom({"record", "-o", recording_, "--", "/bin/sh", "-c", "/bin/true; exit 0"});
  EXPECT_THAT(alone.errors, Not(HasSubstr("still run")));
}

// SIGTERM goes to the command alone, and what it started goes on: the user learns which processes these are.
TEST_F(Endings, OfADurationNamesWhatStillRuns) {
  FATHOM_NEEDS_BPF();
  const std::string pid_file = folder_ / "pid";
  const Outcome outcome = fathom({"record", "-d", "0.5", "-o", recording_, "--", "/bin/sh", "-c",
                                  "sleep 600 </dev/null >/dev/null 2>&1 & echo $! >" + pid_file + "; wait"});
  pid_t left = 0;
  std::ifstream(pid_file) >> left;
  ASSERT_GT(left, 1);
  EXPECT_EQ(::kill(left, SIGKILL), 0);
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("a process that it started still runs"));
  EXPECT_THAT(outcome.errors, HasSubstr("neither records nor ends it: pid " + std::to_string(left)));
  const Outcome alone = fathom({"record", "-d", "0.5", "-o", recording_, "--", "/bin/sleep", "600"});
  EXPECT_THAT(alone.errors, Not(HasSubstr("still run")));
}

class OutOfMemory : public Endings, public testing::WithParamInterface<std::vector<std::string>> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
};

TEST_P(OutOfMemory, OfAProgramThatIsAttachedToNamesTheLimit) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  std::string why;
  const auto group =
      ControlGroup::make("memory", {{"memory.max", "memory.limit_in_bytes"}, {"67108864", "67108864"}}, why);
  if (!group) GTEST_SKIP() << why;
  // Without it the kernel would rather swap, where there is swap.
  (void)group->set({{"memory.swap.max", "memory.memsw.limit_in_bytes"}, {"0", "67108864"}});
  Running program = start(group->inside({EATS_WHEN_TOLD, "300"}));
  std::vector<std::string> options = GetParam();
  options.insert(options.end(), {"-p", std::to_string(program.pid())});
  Running recorder = start_recording(recording_, options);
  program.send(SIGUSR1);
  finish(recorder);
  EXPECT_EQ(program.wait(milliseconds(10'000)).signal, SIGKILL);
  const std::string line = in_one_line(first_line());
  EXPECT_THAT(line, HasSubstr(" · killed by SIGKILL: out of memory, limit 64.0 MiB of cgroup /"));
  EXPECT_THAT(line, HasSubstr(" resident at last"));
}
INSTANTIATE_TEST_SUITE_P(Options, OutOfMemory,
                         testing::Values(std::vector<std::string>{"--memory"},
                                         std::vector<std::string>{"--memory", "--heap"},
                                         std::vector<std::string>{"--memory", "--engine", "perf"}),
                         [](const auto& parameter) { return "With" + std::to_string(parameter.index); });

// The group goes away with the program, before anybody can ask it.
TEST_F(Endings, OutOfMemoryInAGroupThatIsGoneNamesTheLimit) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  FATHOM_NEEDS_BPF();
  std::string why;
  if (!ControlGroup::make("memory", {{"memory.max", "memory.limit_in_bytes"}, {"67108864", "67108864"}}, why))
    GTEST_SKIP() << why;
  const std::string pid_file = folder_ / "pid";
  Running limit(fathom_command({"limit", "--memory", "64m", "--force", "--", "/bin/sh", "-c",
                                "echo $$ > " + pid_file + "; exec " EATS_WHEN_TOLD " 300"}));
  pid_t pid = 0;
  ASSERT_TRUE(wait_until([&] { return bool(std::ifstream(pid_file) >> pid) && waits_to_be_told(pid); },
                         milliseconds(30'000)));
  Running recorder = start_recording(recording_, {"--memory", "-p", std::to_string(pid)});
  ::kill(pid, SIGUSR1);
  finish(recorder);
  EXPECT_EQ(limit.wait(milliseconds(30'000)).exit_status, 5);
  EXPECT_THAT(in_one_line(first_line()),
              HasSubstr(" · killed by SIGKILL: out of memory, limit 64.0 MiB of cgroup /"));
}

}  // namespace
}  // namespace fathom::support
