#include "analysis/core/ending.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

// Three processes, of which the last has a number that was used before.
model::Profile three() {
  HandMade hand;
  hand.process(12, "server");
  hand.process(13, "client");
  hand.process(13, "later");
  hand.profile.processes[2].start_ns = hand.profile.processes[1].start_ns + 1;
  return hand.profile;
}

TEST(Ending, OfEachProcessIsItsOwn) {
  model::Profile profile = three();
  profile.meta.facts = {{"signal", "9"},
                        {"ended_pid", "12"},
                        {"end.12", "signal 9"},
                        {"oom.12", "4096 /a b"},
                        {"end.13", "exit 3"}};
  const Ending killed = ending_of(profile, profile.processes[0]);
  EXPECT_EQ(killed.signal, SIGKILL);
  EXPECT_TRUE(killed.out_of_memory);
  EXPECT_EQ(killed.limit_bytes, 4096u);
  EXPECT_EQ(killed.cgroup, "/a b");
  EXPECT_TRUE(ending_of(profile, profile.processes[2]).by_itself());
  ASSERT_EQ(endings_of(profile).size(), 1u);
  EXPECT_EQ(endings_of(profile)[0].pid, 12);
}

TEST(Ending, OfANumberThatWasUsedAgainIsTheLastOnes) {
  model::Profile profile = three();
  profile.meta.facts = {{"end.13", "signal 11"}};
  EXPECT_TRUE(ending_of(profile, profile.processes[1]).by_itself());
  EXPECT_EQ(ending_of(profile, profile.processes[2]).signal, SIGSEGV);
  EXPECT_TRUE(ending_of(profile, profile.processes[2]).crashed());
}

TEST(Ending, OfOneThatAnotherKilledIsNotTheKernels) {
  model::Profile profile = three();
  profile.meta.facts = {{"end.12", "signal 15"}, {"oom.12", "4096 /a"}};
  EXPECT_FALSE(ending_of(profile, profile.processes[0]).out_of_memory);
}

TEST(Ending, OfNonsenseIsNotKnown) {
  model::Profile profile = three();
  for (const char* text : {"", "signal", "signal 0", "signal 65", "signal -9", "signal 9x", "9", "unknown"}) {
    profile.meta.facts = {{"end.12", text}};
    EXPECT_TRUE(ending_of(profile, profile.processes[0]).not_known) << text;
  }
  profile.meta.facts = {{"end.", "signal 9"}, {"end.x", "signal 9"}, {"end.99999999999", "signal 9"}};
  EXPECT_TRUE(endings_of(profile).empty());
  profile.meta.facts = {{"end.12", "signal 9"}, {"oom.12", ""}};
  EXPECT_EQ(ending_of(profile, profile.processes[0]).limit_bytes, std::nullopt);
}

TEST(Ending, OfOlderRecordingsIsThatOfOneProcess) {
  model::Profile profile = three();
  profile.meta.facts = {{"signal", "9"}, {"ended_pid", "12"}};
  EXPECT_EQ(ending_of(profile, profile.processes[0]).signal, SIGKILL);
  EXPECT_TRUE(ending_of(profile, profile.processes[2]).by_itself());
  EXPECT_TRUE(endings_of(profile).empty());
}

}  // namespace
}  // namespace fathom::analysis
