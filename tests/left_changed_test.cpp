// When a heap recording ends the target is restored, or the user gets an error, a specific exit status, and a
// notice in the first line of the report. What is left is removed as soon as possible.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "support/control_group.h"
#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/process_code.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kLeftChanged = 6;

// Traces a process, as strace -p does, until it goes.
class Debugger {
 public:
  explicit Debugger(pid_t target) {
    int ready[2];
    if (::pipe(ready) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      const bool traced = ::ptrace(PTRACE_SEIZE, target, nullptr, nullptr) == 0;
      (void)!::write(ready[1], traced ? "y" : "n", 1);
      for (;;) ::pause();
    }
    char answer = 0;
    traces_ = ::read(ready[0], &answer, 1) == 1 && answer == 'y';
    ::close(ready[0]), ::close(ready[1]);
  }
  Debugger(const Debugger&) = delete;
  Debugger& operator=(const Debugger&) = delete;
  ~Debugger() { leave(); }
  void leave() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }
  bool traces() const { return traces_; }

 private:
  pid_t pid_ = -1;
  bool traces_ = false;
};

class LeftChanged : public testing::Test {
 protected:
  void start(const std::vector<std::string>& command = {MANY_ALLOCATORS, "2"}) {
    target_.emplace(command);
    ASSERT_TRUE(wait_until([&] { return target_->output_so_far() == "ready\n"; }, milliseconds(20'000)));
    before_ = code_of(target_->pid());
    ASSERT_FALSE(before_.empty());
  }
  std::string pid() const { return std::to_string(target_->pid()); }
  std::vector<std::string> record(const std::string& seconds) const {
    return {"record", "--heap", "-d", seconds, "-o", recording_, "-p", pid()};
  }
  // Starts a recording and returns when its hooks are in.
  Running hooked(const std::string& seconds) {
    Running recorder(fathom_command(record(seconds)));
    EXPECT_TRUE(wait_until([&] { return code_of(target_->pid()) != before_; }, milliseconds(20'000)));
    return recorder;
  }
  void expect_restored() {
    EXPECT_TRUE(wait_until(
        [&] { return code_of(target_->pid()) == before_ && tracer_mappings_of(target_->pid()) == 0; },
        milliseconds(30'000)));
    EXPECT_FALSE(target_->finished());
  }
  // Recorder and guardian at once: no process is left to remove the tracer.
  void kill_recorder_and_guardian() {
    Running recorder = hooked("60");
    const auto guardian = guardian_of(recorder.pid());
    ASSERT_TRUE(guardian);
    ::kill(*guardian, SIGKILL);
    recorder.kill_and_wait();
    ASSERT_NE(code_of(target_->pid()), before_);
  }
  json left_changed() {
    const Outcome report = fathom({"report", recording_, "--json"});
    const json read = json::parse(report.output, nullptr, false);
    return read.is_discarded() ? json() : read["quality"]["left_changed"];
  }

  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
  std::optional<Running> target_;
  std::string before_;
};

TEST_F(LeftChanged, AfterARecordingNothingIsLeft) {
  FATHOM_NEEDS_HEAP_TRACING();
  start();
  const Outcome outcome = fathom(record("1"));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_EQ(code_of(target_->pid()), before_);
  EXPECT_EQ(tracer_mappings_of(target_->pid()), 0);
  EXPECT_EQ(left_changed(), json::array());
}

TEST_F(LeftChanged, ADebuggerAtTheEndIsAnErrorUntilItLeaves) {
  FATHOM_NEEDS_HEAP_TRACING();
  start();
  Running recorder = hooked("2");
  Debugger debugger(target_->pid());
  ASSERT_TRUE(debugger.traces());
  const Outcome outcome = recorder.wait(milliseconds(30'000));
  EXPECT_EQ(outcome.exit_status, kLeftChanged) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("fathom: error: process " + pid()));
  EXPECT_THAT(outcome.errors, HasSubstr("was left changed"));
  EXPECT_THAT(outcome.errors, HasSubstr("because process " + std::to_string(debugger.pid()) + " traced it"));
  EXPECT_THAT(outcome.errors, HasSubstr("fathom detach -p " + pid()));
  EXPECT_NE(code_of(target_->pid()), before_);

  EXPECT_THAT(fathom({"report", recording_}).output, StartsWith("Left changed: process " + pid()));
  const json left = left_changed();
  ASSERT_EQ(left.size(), 1u) << left;
  EXPECT_EQ(left[0]["reason"], "debugger");
  EXPECT_EQ(left[0]["traced_by"], debugger.pid());
  EXPECT_GT(left[0]["bytes"], 0);
  EXPECT_GT(left[0]["mapped_bytes"], 0);

  debugger.leave();
  expect_restored();  // by the guardian, which stayed
  EXPECT_EQ(fathom(record("0.5")).exit_status, 0);
}

TEST_F(LeftChanged, ADebuggerThatLooksAndLeavesIsWaitedFor) {
  FATHOM_NEEDS_HEAP_TRACING();
  start();
  Running recorder = hooked("60");
  {
    const Debugger debugger(target_->pid());
    ASSERT_TRUE(debugger.traces());
    recorder.send(SIGINT);
    pause_ms(100);
  }
  const Outcome outcome = recorder.wait(milliseconds(30'000));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  expect_restored();
}

TEST_F(LeftChanged, AFrozenGroupAtTheEndIsAnErrorUntilItThaws) {
  FATHOM_NEEDS_HEAP_TRACING();
  std::string why;
  const auto group =
      ControlGroup::make("freezer", {{"freezer.state", "cgroup.freeze"}, {"THAWED", "0"}}, why);
  if (!group) GTEST_SKIP() << why;
  start(group->inside({MANY_ALLOCATORS, "2"}));
  Running recorder = hooked("2");
  ASSERT_TRUE(group->set({{"freezer.state", "cgroup.freeze"}, {"FROZEN", "1"}}));
  const Outcome outcome = recorder.wait(milliseconds(30'000));
  EXPECT_EQ(outcome.exit_status, kLeftChanged) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("its control group was frozen"));
  EXPECT_LT(outcome.seconds, 25);
  const json left = left_changed();
  ASSERT_EQ(left.size(), 1u) << left;
  EXPECT_EQ(left[0]["reason"], "frozen");
  group->set({{"freezer.state", "cgroup.freeze"}, {"THAWED", "0"}});
  expect_restored();
}

TEST_F(LeftChanged, ATargetThatEndsIsNotLeftChanged) {
  FATHOM_NEEDS_HEAP_TRACING();
  start();
  Running recorder = hooked("60");
  target_->send(SIGKILL);
  const Outcome outcome = recorder.wait(milliseconds(30'000));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_THAT(outcome.errors, Not(HasSubstr("left changed")));
}

TEST_F(LeftChanged, AfterAKillOfRecorderAndGuardianEveryCommandReportsIt) {
  FATHOM_NEEDS_HEAP_TRACING();
  start();
  kill_recorder_and_guardian();
  for (const std::vector<std::string>& command : {std::vector<std::string>{"watch", "--once", pid()},
                                                  {"doctor", "-p", pid(), "--no-trial"},
                                                  {"record", "--dry-run", "-p", pid()}}) {
    const Outcome outcome = fathom(command);
    EXPECT_THAT(outcome.errors, HasSubstr("process " + pid() + " was left changed")) << outcome.describe();
    EXPECT_THAT(outcome.errors, HasSubstr("fathom detach -p " + pid())) << outcome.describe();
  }
  EXPECT_NE(code_of(target_->pid()), before_) << "they only look";
  EXPECT_EQ(fathom({"detach", "-p", pid()}).exit_status, 0);
  expect_restored();
}

TEST_F(LeftChanged, ARecordingOfAnyKindRepairsFirst) {
  FATHOM_NEEDS_HEAP_TRACING();
  start();
  for (const std::vector<std::string>& kind : {std::vector<std::string>{"--cpu"}, {"--heap"}}) {
    kill_recorder_and_guardian();
    std::vector<std::string> command{"record", "-d", "0.5", "-o", recording_, "-p", pid()};
    command.insert(command.end(), kind.begin(), kind.end());
    const Outcome outcome = fathom(command);
    EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
    EXPECT_THAT(outcome.errors, HasSubstr("was taken out: process " + pid()));
    expect_restored();
  }
}

// What a killed fathom left in one process is found by the next recording of another one.
TEST_F(LeftChanged, ARecordingOfTheHeapRepairsWhatPredecessorsLeft) {
  FATHOM_NEEDS_HEAP_TRACING();
  start();
  kill_recorder_and_guardian();
  const Outcome outcome = fathom({"record", "--heap", "-o", recording_, "--", "/bin/true"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  expect_restored();
}

}  // namespace
}  // namespace fathom::support
