#include "tools/serve/named_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fathom::serve {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(NamedProcesses, NewOnesAreFoundAtOnceAndOthersAreNotReadAgain) {
  std::map<int, std::string> machine;
  int read = 0;
  for (int pid = 1; pid <= 500; ++pid) machine[pid] = "other";
  NamedProcesses named("reth", {[&] {
                                  std::vector<int> pids;
                                  for (const auto& entry : machine) pids.push_back(entry.first);
                                  return pids;
                                },
                                [&](int pid, const std::string& name) {
                                  ++read;
                                  return machine[pid] == name;
                                }});
  EXPECT_THAT(named.find(1 * kSecond), IsEmpty());
  EXPECT_THAT(named.find(2 * kSecond), IsEmpty());
  read = 0;
  EXPECT_THAT(named.find(5 * kSecond), IsEmpty());
  EXPECT_EQ(read, 0);
  machine[600] = "sh";  // it has forked, and is about to execute
  EXPECT_THAT(named.find(6 * kSecond), IsEmpty());
  machine[600] = "reth";
  EXPECT_THAT(named.find(7 * kSecond), ElementsAre(600));
  EXPECT_THAT(named.find(8 * kSecond), ElementsAre(600)) << "it is asked again while it has the name";
  machine[3] = "reth";  // one that was there for long
  EXPECT_THAT(named.find(9 * kSecond), ElementsAre(600));
  EXPECT_THAT(named.find(11 * kSecond), ElementsAre(3, 600));
  machine.erase(600);
  EXPECT_THAT(named.find(12 * kSecond), ElementsAre(3));
  machine[600] = "other";  // the number was given out again
  EXPECT_THAT(named.find(13 * kSecond), ElementsAre(3));
  EXPECT_LT(read, 600);
}

TEST(StillRuns, UntilAllThreadsHaveEndedAlsoIfTheParentDoesNotReadItsStatus) {
  EXPECT_TRUE(still_runs(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_GT(child, 0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(still_runs(child));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(still_runs(child));
}

}  // namespace
}  // namespace fathom::serve
