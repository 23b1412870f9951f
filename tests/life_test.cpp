// The life of a recording as a user sees it: one request ends it, a launched command gets that request once,
// the file is complete, and nothing but the target's kernel delays fathom.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/shell_word.h"
#include "support/control_group.h"
#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/process_code.h"
#include "support/terminal.h"

namespace fathom::support {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The number behind `"NAME": `; -1 if it is not there.
int number_after(const std::string& text, const std::string& name) {
  const auto at = text.find(name);
  return at == std::string::npos ? -1 : std::atoi(text.c_str() + at + name.size());
}

int times_heard(const std::string& output, int signal) {
  return number_after(output, std::string("\"SIG") + sigabbrev_np(signal) + "\": ");
}

bool wait_for_ready(const Running& recorder) {
  return wait_until([&] { return recorder.output_so_far().find("ready") != std::string::npos; },
                    milliseconds(20'000));
}

// As /proc says it: R, S, T ...; Z if it is gone.
char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(')');
  return name_end == std::string::npos || text.size() < name_end + 3 ? 'Z' : text[name_end + 2];
}

bool runs(pid_t pid) {
  return state_of(pid) != 'Z';
}

class Life : public testing::Test {
 protected:
  std::vector<std::string> record(const std::vector<std::string>& more) {
    std::vector<std::string> all{"record", "-o", recording_};
    all.insert(all.end(), more.begin(), more.end());
    return fathom_command(all);
  }
  bool is_complete() { return fathom({"report", recording_}).ok(); }
  bool exists() { return std::filesystem::exists(recording_); }

  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
};

// --- A launched command hears a request once, however it was sent, and is recorded until it ends.

enum class Way { kAlone, kGroup };

class LifeOfACommand : public Life, public testing::WithParamInterface<std::tuple<int, Way>> {};

TEST_P(LifeOfACommand, HearsARequestOnceAndIsRecordedUntilItEnds) {
  FATHOM_NEEDS_PERF_EVENT();
  const auto [signal, way] = GetParam();
  Running recorder(record({"--", SIGNAL_COUNTER, "linger", "1500"}));
  ASSERT_TRUE(wait_for_ready(recorder)) << recorder.errors_so_far();
  kill(way == Way::kGroup ? -recorder.pid() : recorder.pid(), signal);
  const Outcome outcome = recorder.wait(milliseconds(20'000));
  EXPECT_EQ(times_heard(outcome.output, signal), 1) << outcome.describe();
  EXPECT_EQ(outcome.exit_status, 3) << "the command's own: " << outcome.describe();
  EXPECT_GT(Report(recording_).duration_s(), 1.4) << "its shutdown is recorded";
}

INSTANTIATE_TEST_SUITE_P(Signals, LifeOfACommand,
                         testing::Combine(testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT),
                                          testing::Values(Way::kAlone, Way::kGroup)),
                         [](const auto& row) {
                           return std::string(sigabbrev_np(std::get<0>(row.param))) +
                                  (std::get<1>(row.param) == Way::kGroup ? "ToTheGroup" : "ToFathomAlone");
                         });

TEST_F(Life, AKeyOfTheTerminalReachesTheCommandOnce) {
  FATHOM_NEEDS_PERF_EVENT();
  Terminal terminal(record({"--", SIGNAL_COUNTER, "linger", "1500"}));
  ASSERT_TRUE(terminal.wait_for("ready")) << terminal.screen();
  terminal.type(Terminal::kCtrlC);
  EXPECT_TRUE(terminal.wait_for("the command got SIGINT, and is recorded until it ends"))
      << terminal.screen();
  EXPECT_EQ(terminal.wait(milliseconds(20'000)), 3) << terminal.screen();
  EXPECT_EQ(times_heard(terminal.screen(), SIGINT), 1) << terminal.screen();
  EXPECT_GT(Report(recording_).duration_s(), 1.4);
}

TEST_F(Life, ACommandInAGroupOfItsOwnHearsWhatTheGroupOfFathomWasSent) {
  FATHOM_NEEDS_PERF_EVENT();
  Running recorder(record({"--", "setsid", SIGNAL_COUNTER, "linger", "500"}));
  ASSERT_TRUE(wait_for_ready(recorder)) << recorder.errors_so_far();
  kill(-recorder.pid(), SIGINT);
  const Outcome outcome = recorder.wait(milliseconds(20'000));
  EXPECT_EQ(times_heard(outcome.output, SIGINT), 1) << outcome.describe();
  EXPECT_EQ(outcome.exit_status, 3) << outcome.describe();
}

// What the defect cost: a server that takes a second SIGINT for "now" left without saving.
TEST_F(Life, RedisSavesItsDataWhenItsGroupIsInterrupted) {
  FATHOM_NEEDS_PERF_EVENT();
  const auto server = find_redis_server(folder_.path());
  if (!server) GTEST_SKIP() << "needs redis-tools, which is not installed";
  Running recorder(record({"--", *server, "--port", "0", "--unixsocket", folder_ / "s", "--dir",
                           folder_.path(), "--save", "3600 1", "--hz", "1"}));
  ASSERT_TRUE(wait_until(
      [&] {
        return recorder.output_so_far().find("eady to accept") != std::string::npos;  // Ready, in Redis 8
      },
      milliseconds(20'000)))
      << recorder.output_so_far();
  kill(-recorder.pid(), SIGINT);
  const Outcome outcome = recorder.wait(milliseconds(20'000));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("DB saved on disk"), Not(HasSubstr("You insist"))));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
}

TEST_F(Life, ASecondRequestEndsTheRecordingAtOnceAndLeavesTheCommand) {
  FATHOM_NEEDS_PERF_EVENT();
  Running recorder(record({"--", SIGNAL_COUNTER, "linger", "60000"}));
  ASSERT_TRUE(wait_for_ready(recorder));
  const pid_t command = number_after(recorder.output_so_far(), "ready ");
  recorder.send(SIGINT);
  pause_ms(1000);
  EXPECT_FALSE(recorder.finished()) << "the first asks the command only";
  recorder.send(SIGINT);
  ASSERT_TRUE(wait_until([&] { return recorder.finished(); }, milliseconds(30'000)));
  EXPECT_TRUE(runs(command));
  const Outcome outcome = recorder.wait(milliseconds(30'000));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("the command (pid " + std::to_string(command) +
                                        ") still runs, and was left running"));
  EXPECT_TRUE(is_complete());
}

// --- Job control.

TEST_F(Life, ACommandReadsTheTerminalIsStoppedWithUsAndGoesOn) {
  FATHOM_NEEDS_PERF_EVENT();
  Terminal terminal({"bash", "--norc", "--noprofile", "-i"});
  std::string line;
  for (const std::string& word : record({"--", SIGNAL_COUNTER, "echo"})) line += shell_word(word) + " ";
  terminal.type(line + "; echo status=$?\n");
  ASSERT_TRUE(terminal.wait_for("ready")) << terminal.screen();
  terminal.type("one\n");
  EXPECT_TRUE(terminal.wait_for("heard one")) << terminal.screen();
  terminal.type(Terminal::kCtrlZ);
  ASSERT_TRUE(terminal.wait_for("Stopped")) << terminal.screen();
  terminal.type("echo $((41 + 1)) is the shell\n");
  EXPECT_TRUE(terminal.wait_for("42 is the shell")) << terminal.screen();
  terminal.type("fg\n");
  pause_ms(300);
  terminal.type("two\n");
  EXPECT_TRUE(terminal.wait_for("heard two")) << terminal.screen();
  terminal.type(Terminal::kCtrlD);
  EXPECT_TRUE(terminal.wait_for("next: fathom report")) << terminal.screen();
  EXPECT_TRUE(is_complete());
  terminal.type("exit\n");
}

// A command finds the signals as it would without us, except for 32 and 33, which are the C library's own:
// the parent of this test may have set them to ignored, and the library takes 33 for itself in a program that
// changes its user.
TEST_F(Life, NothingOfOurSignalsIsInherited) {
  FATHOM_NEEDS_PERF_EVENT();
  const std::vector<std::string> command{
      "awk", "/^Sig[BI]/ { $2 = substr($2, 1, 7) \"-\" substr($2, 10); print }", "/proc/self/status"};
  std::vector<std::string> recorded = record({"--"});
  recorded.insert(recorded.end(), command.begin(), command.end());
  const Outcome plain = run(command);
  const Outcome outcome = run(recorded);
  EXPECT_THAT(plain.output, HasSubstr("SigIgn"));
  EXPECT_EQ(outcome.output, plain.output);
}

TEST_F(Life, WhatIsStartedWithNohupOutlivesItsTerminal) {
  FATHOM_NEEDS_PERF_EVENT();
  const Running target({CPU_SHARES, "30"});
  std::vector<std::string> command{"sh", "-c", "trap '' HUP; exec \"$@\"", "sh"};
  for (const std::string& word : record({"-d", "2", "-p", std::to_string(target.pid())}))
    command.push_back(word);
  Running recorder(command);
  ASSERT_TRUE(wait_until([&] { return exists(); }, milliseconds(10'000)));
  pause_ms(300);
  recorder.send(SIGHUP);
  EXPECT_TRUE(recorder.wait(milliseconds(15'000)).ok());
  EXPECT_GT(Report(recording_).duration_s(), 1.7);
}

// --- Limits and the delay.

TEST_F(Life, WhenTheTimeIsOverTheFileComesBeforeACommandThatDoesNotEnd) {
  FATHOM_NEEDS_PERF_EVENT();
  Running recorder(record({"-d", "1", "--", SIGNAL_COUNTER, "deaf", "60000"}));
  ASSERT_TRUE(wait_for_ready(recorder));
  const pid_t command = number_after(recorder.output_so_far(), "ready ");
  pause_ms(3500);
  EXPECT_TRUE(is_complete()) << "though the command runs";
  EXPECT_TRUE(runs(command));
  ASSERT_TRUE(wait_until([&] { return recorder.finished(); }, milliseconds(15'000)));
  EXPECT_TRUE(runs(command));
  const Outcome outcome = recorder.wait(milliseconds(1000));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("did not end within 10 s of SIGTERM, and was left running"));
  EXPECT_LT(Report(recording_).duration_s(), 5) << "and not until the command has ended, or the patience";
}

TEST_F(Life, ARequestEndsTheWaitForACommandThatDoesNotEnd) {
  FATHOM_NEEDS_PERF_EVENT();
  Running recorder(record({"-d", "1", "--", SIGNAL_COUNTER, "deaf", "60000"}));
  ASSERT_TRUE(wait_for_ready(recorder));
  pause_ms(3000);
  EXPECT_FALSE(recorder.finished());
  recorder.send(SIGTERM);
  EXPECT_TRUE(wait_until([&] { return recorder.finished(); }, milliseconds(30'000)));
  const Outcome outcome = recorder.wait(milliseconds(1000));
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("still runs, and was left running"));
}

TEST_F(Life, ADelayHoldsForALaunchedCommandToo) {
  FATHOM_NEEDS_PERF_EVENT();
  const Outcome outcome = run(record({"-D", "1.5", "--", "sh", "-c", shell_word(CPU_SHARES) + " 4; exit 0"}));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  const Report report(recording_);
  // The command works for 4 s, and for longer where other programs take the CPUs.
  EXPECT_LT(report.duration_s(), outcome.seconds - 1.4) << "the first 1.5 s are not recorded";
  EXPECT_GT(report.duration_s(), 1.0);
  EXPECT_TRUE(report.has_function("work_beta")) << "of what the command had started in the meantime";
}

TEST_F(Life, ADelayCanBeInterrupted) {
  FATHOM_NEEDS_PERF_EVENT();
  const Running target({CPU_SHARES, "30"});
  Running recorder(record({"-D", "60", "-p", std::to_string(target.pid())}));
  pause_ms(1500);
  recorder.send(SIGINT);
  ASSERT_TRUE(wait_until([&] { return recorder.finished(); }, milliseconds(30'000)));
  const Outcome outcome = recorder.wait(milliseconds(1000));
  EXPECT_EQ(outcome.exit_status, 1) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("fathom: stopped during the delay of 60 s: nothing was recorded\n"));
  EXPECT_FALSE(exists());
  EXPECT_FALSE(target.finished());
}

TEST_F(Life, ACommandHearsARequestDuringTheDelayOnce) {
  FATHOM_NEEDS_PERF_EVENT();
  Running recorder(record({"-D", "60", "--", SIGNAL_COUNTER, "linger", "500"}));
  ASSERT_TRUE(wait_for_ready(recorder)) << recorder.errors_so_far();
  kill(-recorder.pid(), SIGINT);
  const Outcome outcome = recorder.wait(milliseconds(10'000));
  EXPECT_EQ(times_heard(outcome.output, SIGINT), 1) << outcome.describe();
  EXPECT_EQ(outcome.exit_status, 1) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("nothing was recorded"));
  EXPECT_FALSE(exists());
}

// --- A leak check judges what is left after the program's own shutdown.

TEST_F(Life, ALeakCheckWaitsForTheProgramsOwnShutdown) {
  FATHOM_NEEDS_HEAP_TRACING();
  Running recorder(record({"--leaks", "--", SIGNAL_COUNTER, "linger", "500", "0"}));
  ASSERT_TRUE(wait_for_ready(recorder)) << recorder.errors_so_far();
  recorder.send(SIGINT);
  const Outcome outcome = recorder.wait(milliseconds(30'000));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
}

TEST_F(Life, ALeakCheckWithATimeLimitDoesSoToo) {
  FATHOM_NEEDS_HEAP_TRACING();
  Running recorder(record({"--leaks", "-d", "2", "--", SIGNAL_COUNTER, "linger", "500", "0"}));
  const Outcome outcome = recorder.wait(milliseconds(30'000));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_EQ(times_heard(outcome.output, SIGTERM), 1) << outcome.describe();
}

// --- Nothing but its target's kernel holds it up.

TEST_F(Life, AClosedStandardErrorCostsItsLinesOnly) {
  FATHOM_NEEDS_PERF_EVENT();
  const Running target({CPU_SHARES, "30"});
  std::vector<std::string> command{"sh", "-c", "exec \"$@\" 2>&-", "sh"};
  for (const std::string& word : record({"-d", "1", "-p", std::to_string(target.pid())}))
    command.push_back(word);
  const Outcome outcome = run(command);
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_TRUE(is_complete());
}

TEST_F(Life, AnErrorThatCannotBePrintedIsStillAnExitStatus) {
  EXPECT_EQ(run({"sh", "-c", "exec \"$@\" 2>&-", "sh", fathom_command({}).front(), "report", "/no/such/file"})
                .exit_status,
            3);
  EXPECT_EQ(run({"sh", "-c", "exec \"$@\" 2>/dev/full", "sh", fathom_command({}).front(), "report",
                 "/no/such/file"})
                .exit_status,
            3);
}

TEST_F(Life, AFullPipeForStandardErrorDelaysNothing) {
  FATHOM_NEEDS_PERF_EVENT();
  const Running target({CPU_SHARES, "60"});
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const Fd reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const Fd writer(open(fifo.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  const std::string page(4096, 'x');
  while (write(writer.get(), page.data(), page.size()) > 0) {
  }
  std::vector<std::string> command{"sh", "-c", "exec \"$@\" 2>" + fifo, "sh"};
  for (const std::string& word : record({"-d", "1", "-p", std::to_string(target.pid())}))
    command.push_back(word);
  const Outcome outcome = run(command, {.limit = milliseconds(40'000)});
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_TRUE(is_complete());
}

TEST_F(Life, ATerminalThatIsClosedEndsTheRecordingInOrder) {
  FATHOM_NEEDS_PERF_EVENT();
  const Running target({CPU_SHARES, "30"});
  Terminal terminal(record({"-p", std::to_string(target.pid())}));
  ASSERT_TRUE(terminal.wait_for("Ctrl-C ends the recording")) << terminal.screen();
  pause_ms(1500);
  terminal.close();
  EXPECT_EQ(terminal.wait(milliseconds(10'000)), 0);
  EXPECT_TRUE(is_complete());
  EXPECT_FALSE(target.finished());
}

// Ctrl-S: all output to the terminal waits for Ctrl-Q.
TEST_F(Life, ATerminalThatIsHeldDoesNotHoldTheRecording) {
  FATHOM_NEEDS_PERF_EVENT();
  const Running target({CPU_SHARES, "60"});
  Terminal terminal(record({"-d", "3", "-p", std::to_string(target.pid())}));
  ASSERT_TRUE(terminal.wait_for("Ctrl-C ends the recording")) << terminal.screen();
  terminal.type("\x13");
  EXPECT_EQ(terminal.wait(milliseconds(40'000)), 0);
  EXPECT_LT(Report(recording_).duration_s(), 10);
}

TEST_F(Life, ACommandThatIsStoppedIsNotWaitedForWithoutEnd) {
  FATHOM_NEEDS_PERF_EVENT();
  Running recorder(record({"--", SIGNAL_COUNTER, "linger", "500"}));
  ASSERT_TRUE(wait_for_ready(recorder));
  const pid_t command = number_after(recorder.output_so_far(), "ready ");
  kill(command, SIGSTOP);
  ASSERT_TRUE(wait_until([&] { return state_of(command) == 'T'; }, milliseconds(30'000)));
  recorder.send(SIGTERM);
  ASSERT_TRUE(wait_until([&] { return recorder.finished(); }, milliseconds(20'000)));
  EXPECT_TRUE(runs(command));
  const Outcome outcome = recorder.wait(milliseconds(1000));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("is stopped or frozen and cannot end"));
  EXPECT_TRUE(is_complete());
}

TEST_F(Life, AStoppedTargetLetsTheHeapTracerOut) {
  FATHOM_NEEDS_HEAP_TRACING();
  const Running target({SIGNAL_COUNTER, "linger", "500"});
  ASSERT_TRUE(wait_for_ready(target));
  Running recorder(record({"--heap", "-p", std::to_string(target.pid())}));
  ASSERT_TRUE(wait_until([&] { return tracer_mappings_of(target.pid()) > 0; }, milliseconds(20'000)));
  pause_ms(1000);
  target.send(SIGSTOP);
  ASSERT_TRUE(wait_until([&] { return state_of(target.pid()) == 'T'; }, milliseconds(30'000)));
  recorder.send(SIGINT);
  const Outcome outcome = recorder.wait(milliseconds(20'000));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_TRUE(is_complete());
  EXPECT_EQ(tracer_mappings_of(target.pid()), 0) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("is stopped or frozen"));
  target.send(SIGCONT);
  pause_ms(300);
  EXPECT_FALSE(target.finished());
}

TEST_F(Life, AFrozenTargetIsLeftAsItIsAndSaid) {
  FATHOM_NEEDS_HEAP_TRACING();
  std::string why;
  auto group = ControlGroup::make("freezer", {{"freezer.state", "cgroup.freeze"}, {"THAWED", "0"}}, why);
  if (!group) GTEST_SKIP() << why;
  const Running target(group->inside({SIGNAL_COUNTER, "linger", "500"}));
  ASSERT_TRUE(wait_for_ready(target));
  Running recorder(record({"--heap", "-p", std::to_string(target.pid())}));
  ASSERT_TRUE(wait_until([&] { return tracer_mappings_of(target.pid()) > 0; }, milliseconds(20'000)));
  pause_ms(1000);
  ASSERT_TRUE(group->set({{"freezer.state", "cgroup.freeze"}, {"FROZEN", "1"}}));
  recorder.send(SIGINT);
  const Outcome outcome = recorder.wait(milliseconds(30'000));
  group->set({{"freezer.state", "cgroup.freeze"}, {"THAWED", "0"}});
  EXPECT_FALSE(outcome.timed_out) << outcome.describe();
  EXPECT_EQ(outcome.exit_status, 6) << "it is not as it was: " << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("process " + std::to_string(target.pid()) + " is stopped or frozen"));
  EXPECT_TRUE(is_complete());
  pause_ms(500);
  EXPECT_FALSE(target.finished()) << "and it runs on when it is thawed";
  EXPECT_TRUE(run(fathom_command({"detach", "-p", std::to_string(target.pid())})).exit_status != 1);
  EXPECT_EQ(tracer_mappings_of(target.pid()), 0);
}

}  // namespace
}  // namespace fathom::support
