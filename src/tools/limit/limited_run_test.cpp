// Real groups: what a run leaves behind, and what it says. Needs root and a memory controller in which groups can be made.
#include "tools/limit/limited_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"

namespace fathom::limit {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class RealGroup : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (!groups_can_be_made()) GTEST_SKIP() << "no control group with the controller memory can be made here";
    bool needs_scope = false;
    const auto place = find_place(look_around(false), needs_scope);
    ASSERT_TRUE(place) << place.error().message;
    place_ = *place;
  }
  // Asks the kernel, not the code under test.
  static bool groups_can_be_made() {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
      if (line.find(":memory:") == std::string::npos) continue;
      const std::string probe =
          "/sys/fs/cgroup/memory" + line.substr(line.rfind(':') + 1) + "/" + name() + "-probe";
      return ::mkdir(probe.c_str(), 0755) == 0 && ::rmdir(probe.c_str()) == 0;
    }
    if (std::filesystem::exists("/run/systemd/system")) return false;  // they are systemd's
    const auto controllers = read_file("/sys/fs/cgroup/cgroup.controllers");
    return controllers && controllers->find("memory") != std::string::npos;
  }
  static std::string name() { return "fathom-test-" + std::to_string(::getpid()); }
  std::string directory() const { return place_.parent + "/" + name(); }

  // With a guardian of its own, as a program has it.
  Result<Outcome> run(RunOptions options) {
    auto guardian = GroupGuardian::start();
    if (!guardian) return tl::unexpected<Error>(guardian.error());
    options.group_name = name();
    LimitedRun run(std::move(options), place_, *guardian);
    if (auto started = run.start(); !started) return tl::unexpected<Error>(started.error());
    for (run.step(); !run.ended(); run.step()) {
      std::vector<pollfd> ready = run.poll_fds();
      (void)::poll(ready.data(), ready.size(), run.wait_ms());
    }
    return run.finish();
  }
  static RunOptions of(std::vector<std::string> command, std::uint64_t memory) {
    RunOptions options;
    options.command = std::move(command);
    options.limits.memory_bytes = memory;
    return options;
  }
  Place place_;
};

TEST_F(RealGroup, CommandThatStaysBelowPasses) {
  const auto outcome = run(of({"/bin/sh", "-c", "exit 0"}, 64 * kMiB));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(judge(*outcome), Verdict::kPassed);
  EXPECT_GT(peak_of(*outcome), 0U);
  EXPECT_LE(peak_of(*outcome), 64 * kMiB);
  EXPECT_FALSE(std::filesystem::exists(directory()));
}

TEST_F(RealGroup, CommandThatNeedsMoreIsKilledAndTheKernelsRecordNamesWho) {
  const auto outcome = run(of({"/usr/bin/tail", "/dev/zero"}, 48 * kMiB));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(judge(*outcome), Verdict::kDied) << describe(*outcome);
  EXPECT_EQ(outcome->signal, SIGKILL);
  EXPECT_EQ(outcome->state.oom_kills, 1U);
  EXPECT_GT(outcome->state.limit_hits, 0U);
  EXPECT_LE(peak_of(*outcome), 48 * kMiB);
  EXPECT_GT(peak_of(*outcome), 40 * kMiB);
  if (!outcome->log_unreadable) {
    ASSERT_EQ(outcome->records.size(), 1U);
    EXPECT_EQ(outcome->records[0].kills.at(0).name, "tail");
    EXPECT_EQ(outcome->records[0].kills.at(0).pid, outcome->pid);
    EXPECT_GT(outcome->records[0].kills.at(0).anon_bytes, 32 * kMiB);
  }
  EXPECT_FALSE(std::filesystem::exists(directory()));
}

TEST_F(RealGroup, ChildThatIsKilledIsNoPass) {
  const auto outcome = run(of({"/bin/sh", "-c", "/usr/bin/tail /dev/zero; exit 0"}, 48 * kMiB));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->status, 0);
  EXPECT_EQ(judge(*outcome), Verdict::kDied);
}

TEST_F(RealGroup, OwnFailureAndAForeignKillAreNotTheLimits) {
  const auto failed = run(of({"/bin/sh", "-c", "exit 3"}, 64 * kMiB));
  ASSERT_TRUE(failed) << failed.error().message;
  EXPECT_EQ(judge(*failed), Verdict::kFailed);
  const auto killed = run(of({"/bin/sh", "-c", "kill -9 $$"}, 64 * kMiB));
  ASSERT_TRUE(killed) << killed.error().message;
  EXPECT_EQ(judge(*killed), Verdict::kKilled);
}

TEST_F(RealGroup, WhatTheCommandLeavesBehindEndsWithTheGroup) {
  const auto outcome = run(of({"/bin/sh", "-c", "sleep 1000 & exit 0"}, 64 * kMiB));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(judge(*outcome), Verdict::kPassed);
  EXPECT_EQ(outcome->left_behind, 1U);
  EXPECT_FALSE(std::filesystem::exists(directory()));
}

TEST_F(RealGroup, CommandThatIsNotThereLeavesNoGroup) {
  const auto outcome = run(of({"/no/such/command"}, 64 * kMiB));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(directory()));
}

TEST_F(RealGroup, SwappinessIsOfVersion1) {
  auto options = of({"/bin/true"}, 64 * kMiB);
  options.limits.swappiness = 1;
  const auto outcome = run(std::move(options));
  if (place_.version == 1) {
    EXPECT_TRUE(outcome) << outcome.error().message;
  } else {
    EXPECT_THAT(outcome.error().message, HasSubstr("no swappiness"));
  }
  EXPECT_FALSE(std::filesystem::exists(directory()));
}

// Our own death during a run: the guardian ends the group.
TEST_F(RealGroup, DeathOfTheRunnerEndsTheGroup) {
  int line[2];
  ASSERT_EQ(::pipe(line), 0);
  const std::string ours = name();  // made of our pid, and not of the runner's
  const pid_t runner = ::fork();
  if (runner == 0) {
    ::close(line[0]);
    auto guardian = GroupGuardian::start();
    RunOptions options = of({"/bin/sleep", "1000"}, 64 * kMiB);
    options.group_name = ours;
    LimitedRun run(std::move(options), place_, *guardian);
    const bool started = run.start().has_value();
    const char answer = started ? '1' : '0';
    if (::write(line[1], &answer, 1) == 1) ::pause();
    ::_exit(1);
  }
  ::close(line[1]);
  char answer = '0';
  EXPECT_EQ(::read(line[0], &answer, 1), 1);
  EXPECT_EQ(answer, '1');
  ::close(line[0]);
  const MemoryGroup group(place_.version, directory());
  EXPECT_EQ(group.processes().size(), 1U);
  ::kill(runner, SIGKILL);
  ::waitpid(runner, nullptr, 0);
  constexpr int kTries = 3000;
  for (int i = 0; i < kTries && std::filesystem::exists(directory()); ++i) ::usleep(10'000);
  EXPECT_FALSE(std::filesystem::exists(directory()));
}

}  // namespace
}  // namespace fathom::limit
