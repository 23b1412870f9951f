// The class of the problem of programs of which it is known, as recorded with the default options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using testing::AnyOf;

class ProblemKinds : public testing::Test {
 protected:
  json problem_of(const std::string& kind, const std::vector<std::string>& options = {}) {
    const TempDir folder;
    std::vector<std::string> words{"record", "-q", "-o", folder / "x.fathom"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", PROBLEM_KINDS, kind, "1"});
    const Outcome recorded = fathom(words);
    EXPECT_TRUE(recorded.ok()) << recorded.describe();
    const Outcome said = fathom({"report", folder / "x.fathom", "--json"});
    EXPECT_TRUE(said.ok()) << said.describe();
    return json::parse(said.output).at("problem");
  }
};

// With other work on the machine a program that computes is also short of CPUs; for one that sleeps nothing
// changes.
TEST_F(ProblemKinds, AProgramInWhichOneThreadComputesIsCpuBoundForAnyWaitsOfTheOthers) {
  FATHOM_NEEDS_BPF();
  for (const std::string kind : {"pool", "joined", "keepers", "spin"}) {
    const json problem = problem_of(kind);
    EXPECT_THAT(problem.at("kind"), AnyOf("cpu", "cpu-and-run-queue", "run-queue"))
        << kind << ": " << problem;
    EXPECT_LE(problem.at("slept_percent"), 20) << kind << ": " << problem;
    EXPECT_LE(problem.at("locks_percent"), 20) << kind << ": " << problem;
  }
}

TEST_F(ProblemKinds, AProgramThatATimerEndsSleeps) {
  FATHOM_NEEDS_BPF();
  const json problem = problem_of("asleep");
  EXPECT_EQ(problem.at("kind"), "sleep") << problem;
}

TEST_F(ProblemKinds, ALockIsOneWhetherItsHolderSleepsOrComputes) {
  FATHOM_NEEDS_BPF();
  const json held = problem_of("held");
  EXPECT_THAT(held.at("kind"), AnyOf("locks", "run-queue")) << held;
  EXPECT_GE(held.at("locks_percent"), 30) << held;
  EXPECT_LE(held.at("slept_percent"), 10) << held;
  const json contended = problem_of("contended");
  EXPECT_THAT(contended.at("kind"), AnyOf("locks", "cpu-and-run-queue", "run-queue")) << contended;
  EXPECT_GE(contended.at("contended_percent"), 50) << contended;
}

TEST_F(ProblemKinds, AWaitThatNothingEndsIsNoSleep) {
  FATHOM_NEEDS_BPF();
  const json stuck = problem_of("stuck", {"-d", "3"});
  // Where the functions that wait have names, they are those of a lock. A full machine hardly starts it in that time.
  EXPECT_THAT(stuck.at("kind"), AnyOf("locks", "unended", "run-queue")) << stuck;
  EXPECT_LE(stuck.at("slept_percent"), 10) << stuck;
}

TEST_F(ProblemKinds, AnEventLoopWithoutEventsAndAPoolWithoutWorkAreIdle) {
  FATHOM_NEEDS_BPF();
  const json problem = problem_of("idle");
  EXPECT_LE(problem.at("busy_percent"), 30)
      << "the start of a program takes longer on a busy machine; " << problem;
  EXPECT_EQ(problem.at("slept_percent"), 0) << problem;
}

}  // namespace
}  // namespace fathom::support
