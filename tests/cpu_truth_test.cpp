// Reported shares of CPU time against what the program measured about itself.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/other_user.h"

namespace fathom::support {
namespace {

using std::chrono::milliseconds;

// The program's own answer compared with the report's, in percent of all CPU time. 1.5 points are four
// standard errors or more if the program had the machine for itself; if it had to share, and samples are
// fewer, four of those are allowed.
void expect_true_shares(const Outcome& program, const Report& report) {
  const double all_s = answer_of(program).at("cpu_s");
  for (const auto& [name, spent_s] : answer_of(program, "functions")) {
    const double truth = 100 * spent_s / all_s;
    const double standard_error = std::sqrt(truth * (100 - truth) / report.samples());
    EXPECT_NEAR(report.total_percent(name), truth, std::max(1.5, 4 * standard_error)) << name;
    std::printf("  %-11s truth %5.2f %%  reported %5.2f %%\n", name.c_str(), truth,
                report.total_percent(name));
  }
  for (const auto& [name, spent_s] : answer_of(program, "threads")) {
    EXPECT_TRUE(report.has_thread(name)) << name;
    EXPECT_GT(spent_s, 0);
  }
}

TEST(CpuTruth, OfALaunchedProgram) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome outcome = fathom({"record", "-F", "999", "-o", folder / "x.fathom", "--", CPU_SHARES, "10"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const Report report(folder / "x.fathom");
  expect_true_shares(outcome, report);
  EXPECT_GE(report.complete_percent(), 99.9);
}

TEST(CpuTruth, OfARunningProgram) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  Running target({CPU_SHARES, "11"});
  pause_ms(200);
  const Outcome recorded = fathom(
      {"record", "-F", "999", "-d", "10", "-o", folder / "x.fathom", "-p", std::to_string(target.pid())});
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const Outcome outcome = target.wait(milliseconds(10'000));
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const Report report(folder / "x.fathom");
  expect_true_shares(outcome, report);
  EXPECT_EQ(report.lost(), 0);
  EXPECT_NEAR(report.duration_s(), 10, 0.5);
}

// The other engine: no privileges at all, a copied piece of the stack, the same tables.
TEST(CpuTruth, WithoutPrivileges) {
  FATHOM_NEEDS_PERF_EVENT();
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give its privileges up";
  std::ifstream paranoid_file("/proc/sys/kernel/perf_event_paranoid");
  int paranoid = 3;
  paranoid_file >> paranoid;
  if (paranoid > 2) GTEST_SKIP() << "needs kernel.perf_event_paranoid at 2 or below, it is " << paranoid;

  const OtherUsersFolder folder;
  const Outcome outcome =
      run(folder.fathom_command(
              {"record", "-F", "999", "-o", folder / "x.fathom", "--", folder.program(CPU_SHARES), "10"}),
          {.folder = folder.path(), .environment = {"HOME=" + folder.path()}, .user = kNobody});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const Report report(folder / "x.fathom");
  EXPECT_EQ(report.engine(), "perf");
  expect_true_shares(outcome, report);
}

}  // namespace
}  // namespace fathom::support
