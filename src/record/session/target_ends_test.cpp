#include "record/session/target_ends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace fathom::session {
namespace {

struct Child {
  Child() : pid(::fork()) {
    if (pid != 0) return;
    for (;;) ::pause();
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void end() {
    if (pid == 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = 0;
  }
  pid_t pid;
};

TEST(LeftByCommand, AreProcessesThatStillRunWhenItHasEnded) {
  Child daemon, gone;
  const std::array<std::int32_t, 3> pids = {::getpid(), daemon.pid, gone.pid};
  gone.end();
  TargetEnds targets{{{::getpid(), 0}}, true};  // this process stands for the command
  EXPECT_THAT(left_by_command(targets, pids), testing::ElementsAre(pids[1]));
  targets.launched = false;
  EXPECT_THAT(left_by_command(targets, pids), testing::IsEmpty()) << "fathom attached to it";
  targets = {{}, true};
  EXPECT_THAT(left_by_command(targets, pids), testing::IsEmpty()) << "it has not ended";
}

TEST(EndWatch, TellsWhatTheEngineAndTheTargetsSay) {
  EndWatch ends;
  ends.add_target(10);
  ends.add_target(11);
  sources::ThreadCpuTime thread{5, 10, 12, 7, {}};
  ends.saw(thread);  // no process has ended with it
  sources::ThreadCpuTime process{6, 10, 10, 7, sources::ProcessEnd{SIGSEGV, false}};
  ends.saw(process);
  model::Profile profile;
  // How process 10 ended is known from the engine alone; its death by a signal goes first.
  ends.tell({{{11, 3 << 8}, {10, std::nullopt}}, false}, profile);
  EXPECT_EQ(profile.meta.facts["signal"], std::to_string(SIGSEGV));
  EXPECT_EQ(profile.meta.facts["ended_pid"], "10");
  EXPECT_TRUE(profile.meta.facts.contains("end.11"));
  EXPECT_FALSE(profile.meta.facts.contains("command_pid"));
  EXPECT_FALSE(profile.meta.facts.contains("oom_cgroup"));
}

TEST(EndWatch, NamesTheCommandThatWasLaunched) {
  EndWatch ends;
  ends.add_target(10);
  model::Profile profile;
  ends.tell({{{10, 3 << 8}}, true}, profile);
  EXPECT_EQ(profile.meta.facts["command_pid"], "10");
  EXPECT_EQ(profile.meta.facts["exit"], "3");
}

}  // namespace
}  // namespace fathom::session
