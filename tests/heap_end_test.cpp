// A recording ends on time, whatever is in the rings: with a target that floods them with forged events, and
// with ordinary programs that keep every CPU busy. Claims of such a target are bounded by what it can have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "linux/process/status.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr double kDuration_s = 3;
// The goal is 10 s; on a machine that others use as well, twice that is still no 45.
constexpr double kMost_s = 20, kMostSinceSignal_s = 15;
constexpr double kMostBytes = 300e6;

// Memory of its own: the rings are the target's, and count as shared.
double own_memory_of(pid_t pid) {
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
  if (name != "fathom") return 0;  // it is still a copy of us
  const auto status = process::read_status(pid);
  return status ? static_cast<double>(status->rss_anon) : 0;
}

struct Case {
  const char* attack;
  const char* mode;
};

class HeapEnd : public testing::TestWithParam<Case> {
 protected:
  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
};

class HeapAttack : public HeapEnd {};

TEST_P(HeapAttack, EndsInTimeAndClaimsNothing) {
  FATHOM_NEEDS_HEAP_TRACING();
  Running target({HEAP_ATTACKS, GetParam().attack, "2"});
  ASSERT_TRUE(wait_until([&] { return target.output_so_far() == "ready\n"; }, milliseconds(20'000)));
  const auto status = process::read_status(target.pid());
  ASSERT_TRUE(status);
  Running recorder(fathom_command(
      {"record", GetParam().mode, "-q", "-d", "3", "-o", recording_, "-p", std::to_string(target.pid())}));
  double memory = 0;
  EXPECT_TRUE(wait_until(
      [&] {
        memory = std::max(memory, own_memory_of(recorder.pid()));
        return recorder.finished();
      },
      milliseconds(60'000)));
  const Outcome outcome = recorder.wait(milliseconds(1'000));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_LT(outcome.seconds, kMost_s) << outcome.describe();
  EXPECT_LT(memory, kMostBytes);
  std::cout << outcome.seconds << " s, " << memory / 1e6 << " MB\n";
  target.send(SIGKILL);

  const Outcome report = fathom({"report", recording_, "--heap", "--json", "--top", "5"});
  ASSERT_TRUE(report.ok()) << report.describe();
  const json heap = json::parse(report.output)["heap"];
  // Of samples the sum is an estimate, and may lie some steps above what is there.
  const double bound = static_cast<double>(status->virtual_size) + 64e6;
  EXPECT_LT(heap["live"]["bytes"], bound);
  EXPECT_LT(heap["peak"]["bytes"], bound);
  for (const json& verdict : heap["verdicts"]) EXPECT_NE(verdict["confidence"], "high") << verdict;
}

constexpr Case kAttacks[] = {
    {"threads", "--heap=exact"},        {"threads-in-range", "--heap"},  {"stacks-nowhere", "--heap=exact"},
    {"stacks-in-code", "--heap=exact"}, {"deep-stacks", "--heap=exact"}, {"live", "--heap=exact"},
    {"huge", "--heap=exact"},           {"samples", "--heap"},           {"small-blocks", "--heap=exact"},
    {"churn", "--heap=exact"},          {"realloc", "--heap=exact"},     {"sites", "--heap=exact"},
};

std::string name_of(const testing::TestParamInfo<Case>& parameter) {
  std::string name = parameter.param.attack;
  name += parameter.param.mode == std::string("--heap") ? "_sampled" : "_exact";
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Attacks, HeapAttack, testing::ValuesIn(kAttacks), name_of);

class HeapSignal : public HeapEnd {};

TEST_P(HeapSignal, AnswersAtOnceWhileItIsFlooded) {
  FATHOM_NEEDS_HEAP_TRACING();
  Running target({HEAP_ATTACKS, GetParam().attack, "2"});
  ASSERT_TRUE(wait_until([&] { return target.output_so_far() == "ready\n"; }, milliseconds(20'000)));
  for (const int signal : {SIGINT, SIGTERM}) {
    Running recorder(fathom_command(
        {"record", GetParam().mode, "-q", "-o", recording_, "-p", std::to_string(target.pid())}));
    pause_ms(2000);
    const auto asked = std::chrono::steady_clock::now();
    recorder.send(signal);
    const Outcome outcome = recorder.wait(milliseconds(30'000));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - asked;
    std::cout << took.count() << " s\n";
    EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
    EXPECT_LT(took.count(), kMostSinceSignal_s) << outcome.describe();
  }
}
INSTANTIATE_TEST_SUITE_P(Attacks, HeapSignal,
                         testing::Values(Case{"threads", "--heap=exact"},
                                         Case{"deep-stacks", "--heap=exact"}),
                         name_of);

class BusyProgram : public HeapEnd {};

// More threads than CPUs, all of them allocate: `perf record` needs 8 s for this with two CPUs.
TEST_P(BusyProgram, EndsInTimeOnAFullMachine) {
  FATHOM_NEEDS_HEAP_TRACING();
  const Running target({MANY_ALLOCATORS, "50"});
  ASSERT_TRUE(wait_until([&] { return target.output_so_far() == "ready\n"; }, milliseconds(20'000)));
  const Outcome outcome = fathom(
      {"record", GetParam().mode, "-q", "-d", "3", "-o", recording_, "-p", std::to_string(target.pid())});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_LT(outcome.seconds, kMost_s) << outcome.describe();
  EXPECT_FALSE(target.finished());
}
INSTANTIATE_TEST_SUITE_P(Modes, BusyProgram,
                         testing::Values(Case{"busy", "--heap"}, Case{"busy", "--heap=exact"}), name_of);

}  // namespace
}  // namespace fathom::support
