// The table "Which privilege buys what" of the README, row by row: what each of these users may record, with
// which engine, and what is reported as missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/other_user.h"

namespace fathom::support {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LeastPrivilege : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become other users";
  }

  // Records a program that burns and sleeps, as what `before` makes of us.
  Outcome record(std::vector<std::string> before, std::vector<std::string> more = {},
                 std::vector<std::string> program = {}) {
    if (program.empty()) program = {folder_.program(KNOWN_WAITS), "2", folder_ / "waits"};
    auto command = folder_.fathom_command({"record", "-o", recording_});
    command.insert(command.begin(), before.begin(), before.end());
    command.insert(command.end(), more.begin(), more.end());
    command.emplace_back("--");
    command.insert(command.end(), program.begin(), program.end());
    return run(command, {.folder = folder_.path(), .environment = {"HOME=" + folder_.path()}});
  }
  std::string waits() {
    const Outcome outcome = fathom({"report", recording_, "--waits"});
    EXPECT_TRUE(outcome.ok()) << outcome.describe();
    return outcome.output;
  }

  const std::vector<std::string> nobody_{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  OtherUsersFolder folder_;
  std::string recording_ = folder_ / "x.fathom";
};

TEST_F(LeastPrivilege, Root) {
  FATHOM_NEEDS_BPF();
  ASSERT_EQ(::chown(folder_.path().c_str(), 0, 0), 0);  // root writes into no folder of others
  const Outcome outcome = record({});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_EQ(Report(recording_).engine(), "bpf");
  EXPECT_GE(Report(recording_).complete_percent(), 95);
}

TEST_F(LeastPrivilege, TwoCapabilitiesOfAnotherUser) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_PROGRAM("setpriv");
  auto before = nobody_;
  before.insert(before.end(), {"--inh-caps=+bpf,+perfmon", "--ambient-caps=+bpf,+perfmon"});
  const Outcome outcome = record(before);
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_EQ(Report(recording_).engine(), "bpf");
  EXPECT_GE(Report(recording_).complete_percent(), 95);
}

TEST_F(LeastPrivilege, NoCapabilities) {
  FATHOM_NEEDS_PERF_EVENT();
  FATHOM_NEEDS_PROGRAM("setpriv");
  const Outcome outcome = record(nobody_);
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_EQ(Report(recording_).engine(), "perf");
  EXPECT_THAT(outcome.errors, HasSubstr("engine perf is used"));
  EXPECT_THAT(Report(recording_).quality(), HasSubstr("time inside system calls is not in the samples"));
}

TEST_F(LeastPrivilege, NeitherBpfNorPerfEvents) {
  FATHOM_NEEDS_PROGRAM("setpriv");
  auto before = nobody_;
  before.push_back(folder_.program(WITHOUT_EVENTS));
  // Not the program that burns: it measures itself with perf events.
  const Outcome outcome = record(before, {}, {"sleep", "1"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const Report report(recording_);
  EXPECT_EQ(report.engine(), "proc");
  EXPECT_EQ(report.samples(), 0);
  EXPECT_THAT(outcome.errors, HasSubstr("engine proc is used"));
  EXPECT_THAT(report.quality(), HasSubstr("there are no CPU samples"));
  EXPECT_THAT(report.quality(), Not(HasSubstr("of the samples arrived")));
  EXPECT_THAT(waits(), HasSubstr("sleep"));  // what it is for: where threads wait
}

TEST_F(LeastPrivilege, CpuTimeComesFromTheClockWhereNothingCanBeSampled) {
  FATHOM_NEEDS_PROGRAM("setpriv");
  auto before = nobody_;
  before.push_back(folder_.program(WITHOUT_EVENTS));
  const std::string spin = folder_.program(CPU_SHARES) + " 1.5; exit 0";
  const Outcome outcome = record(before, {}, {"sh", "-c", spin});  // a child of the command
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_EQ(Report(recording_).engine(), "proc");
  EXPECT_THAT(outcome.errors, Not(HasSubstr("of one CPU only")));
  const Outcome report = fathom({"report", recording_, "--all"});
  EXPECT_THAT(report.output, HasSubstr("neither BPF nor perf events are available"));
  EXPECT_THAT(report.output, Not(HasSubstr("was idle")));
}

// The kernel takes the events away from a program that this user may execute and not read.
TEST_F(LeastPrivilege, AProgramThatMayNotBeSampledIsNotIdle) {
  FATHOM_NEEDS_PERF_EVENT();
  FATHOM_NEEDS_PROGRAM("setpriv");
  const std::string hidden = folder_.program(CPU_SHARES);
  ASSERT_EQ(::chmod(hidden.c_str(), 0711), 0);
  const Outcome outcome = record(nobody_, {}, {hidden, "1.5"});
  EXPECT_EQ(outcome.exit_status, 4) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("could not be sampled: the kernel does not let this user sample"));
  EXPECT_THAT(outcome.errors, HasSubstr("try: run as root"));
  EXPECT_EQ(Report(recording_).engine(), "perf");
  EXPECT_THAT(outcome.errors, Not(HasSubstr("of one CPU only")));
  const Outcome report = fathom({"report", recording_, "--all"});
  EXPECT_THAT(report.output, HasSubstr("could not be sampled: the kernel does not let this user"));
  EXPECT_THAT(report.output, Not(HasSubstr("was idle")));
  EXPECT_THAT(fathom({"report", recording_}).output, HasSubstr("· could not be sampled"));
}

// The shares of what could be sampled are not those of the program.
TEST_F(LeastPrivilege, SaysHowMuchOfTheCpuTimeIsNotInTheSamples) {
  FATHOM_NEEDS_PERF_EVENT();
  FATHOM_NEEDS_PROGRAM("setpriv");
  const std::string hidden = folder_.program(CPU_SHARES);
  ASSERT_EQ(::chmod(hidden.c_str(), 0711), 0);
  const Outcome outcome =
      record(nobody_, {}, {"sh", "-c", hidden + " 1.5; for i in 1 2 3; do :; done; exit 0"});
  ASSERT_TRUE(outcome.ok() || outcome.exit_status == 4) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("could not be sampled"));
  const Outcome report = fathom({"report", recording_});
  EXPECT_THAT(report.output, HasSubstr("could not be sampled"));
  EXPECT_THAT(report.output, Not(HasSubstr("· idle")));
}

TEST_F(LeastPrivilege, TheLastEngineSaysWhatItCannotRecord) {
  FATHOM_NEEDS_PROGRAM("setpriv");
  const Outcome outcome = record(nobody_, {"--engine", "proc", "--cpu"});
  EXPECT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.errors, HasSubstr("without BPF and perf events only waits can be seen"));
}

}  // namespace
}  // namespace fathom::support
