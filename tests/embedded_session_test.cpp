// A session inside of another program, as a server or a daemon would run it: no signal, no terminal and no
// process of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "record/session/session.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using session::Phase;
using session::RecordOptions;
using session::RecordOutcome;
using session::Session;

// What a session might have changed for the program around it: masks and dispositions of signals. The C
// library takes the two after the standard ones for itself, with the first thread.
std::string signals_of_this_process() {
  constexpr std::uint64_t kStandard = (1ull << 31) - 1;
  std::ifstream file("/proc/thread-self/status");
  std::string all;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("SigBlk") || line.starts_with("SigIgn") || line.starts_with("SigCgt"))
      all += line.substr(0, 8) + std::to_string(std::stoull(line.substr(8), nullptr, 16) & kStandard) + "\n";
  }
  return all;
}

class EmbeddedSession : public testing::Test {
 protected:
  RecordOptions options(const std::string& name, std::vector<std::string> command) {
    RecordOptions options;
    options.command = std::move(command);
    options.target = name;
    options.output = folder_ / (name + ".fathom");
    return options;
  }
  // To its end; `also` is called after each step.
  template <class Also>
  static Result<RecordOutcome> run(Session& session, const Also& also) {
    if (auto started = session.start(); !started) return tl::unexpected<Error>(started.error());
    for (session.step(); !session.ended(); session.step()) {
      pollfd ready{session.poll_fd(), POLLIN, 0};
      ::poll(&ready, 1, session.wait_ms());
      also();
    }
    return session.outcome();
  }

  TempDir folder_;
};

TEST_F(EmbeddedSession, RunsSeveralTimesInOneProcessAndOwnsNoSignal) {
  FATHOM_NEEDS_PERF_EVENT();
  const std::string before = signals_of_this_process();
  for (const char* name : {"first", "second", "third"}) {
    Session session(options(name, {CPU_SHARES, "1"}));
    int changed = 0;
    const auto outcome = run(session, [&] { changed += signals_of_this_process() != before ? 1 : 0; });
    EXPECT_EQ(changed, 0) << signals_of_this_process();
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->target_status, 0);
    EXPECT_EQ(outcome->stopped_by, session::StopReason::kTargetEnded);
    const Report report(outcome->path);
    EXPECT_GT(report.samples(), 100) << name;
    EXPECT_TRUE(report.has_function("work_beta")) << name;
  }
  EXPECT_EQ(signals_of_this_process(), before);
}

TEST_F(EmbeddedSession, TwoRunAtATime) {
  FATHOM_NEEDS_PERF_EVENT();
  const Running target({CPU_SHARES, "30"});
  RecordOptions first = options("first", {}), second = options("second", {});
  first.pids = second.pids = {target.pid()};
  first.duration_s = 1.5;
  second.duration_s = 1;
  Session one(first), other(second);
  ASSERT_TRUE(one.start());
  ASSERT_TRUE(other.start());
  while (!one.ended() || !other.ended()) {
    if (!one.ended()) one.step();
    if (!other.ended()) other.step();
    pollfd ready[] = {{one.poll_fd(), POLLIN, 0}, {other.poll_fd(), POLLIN, 0}};
    ::poll(ready, 2, std::min(one.ended() ? 1000 : one.wait_ms(), other.ended() ? 1000 : other.wait_ms()));
  }
  for (const Session* session : {&one, &other}) {
    const auto outcome = session->outcome();
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_GT(Report(outcome->path).samples(), 100);
  }
}

// As of a control group into which a process is put while it is recorded.
TEST_F(EmbeddedSession, TargetsThatComeLaterAreRecordedFromThenOn) {
  FATHOM_NEEDS_BPF();
  const Running idle({"/bin/sleep", "60"});
  RecordOptions one = options("group", {});
  one.pids = {idle.pid()};
  one.duration_s = 5;
  Session session(one);
  std::optional<Running> later;
  session.follow([&] {
    std::vector<std::int32_t> members{idle.pid()};
    if (later) members.push_back(later->pid());
    return members;
  });
  const auto outcome = run(session, [&] {
    if (!later && session.phase() == Phase::kRecording)
      later.emplace(std::vector<std::string>{CPU_SHARES, "60"});
  });
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->stopped_by, session::StopReason::kDuration);
  const Report report(outcome->path);
  EXPECT_TRUE(report.has_function("work_beta"));
}

TEST_F(EmbeddedSession, ARequestIsACallAndNoSignal) {
  FATHOM_NEEDS_PERF_EVENT();
  Session session(options("asked", {SIGNAL_COUNTER, "linger", "200"}));
  const std::uint64_t start = monotonic_ns();
  bool asked = false;
  const auto outcome = run(session, [&] {
    if (asked || monotonic_ns() < start + 1'500'000'000) return;
    asked = true;
    session.request_stop({});
    EXPECT_EQ(session.phase(), Phase::kTargetAsked);
  });
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->stopped_by, session::StopReason::kInterrupted);
  EXPECT_EQ(outcome->target_status, 3) << "it ended on its own";
}

TEST_F(EmbeddedSession, OneThatCannotBeginLeavesNoFileAndNoProcess) {
  FATHOM_NEEDS_PERF_EVENT();
  RecordOptions options = this->options("never", {"/no/such/program"});
  Session session(options);
  EXPECT_FALSE(session.start());
  EXPECT_FALSE(std::filesystem::exists(options.output));
  EXPECT_TRUE(session.ended());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child of ours is left";
}

TEST_F(EmbeddedSession, OneThatIsDroppedLetsItsTargetGo) {
  FATHOM_NEEDS_PERF_EVENT();
  const Running target({CPU_SHARES, "30"});
  RecordOptions dropped = options("dropped", {});
  dropped.pids = {target.pid()};
  {
    Session session(dropped);
    ASSERT_TRUE(session.start());
    session.step();
  }
  EXPECT_FALSE(target.finished());
}

}  // namespace
}  // namespace fathom::support
