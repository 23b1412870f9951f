#include "linux/process/descendants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fathom::process {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(Descendants, ChildrenAndTheirChildren) {
  EXPECT_THAT(descendants_in({{10, 1}, {12, 11}, {11, 10}, {13, 10}, {20, 1}}, 10),
              UnorderedElementsAre(11, 12, 13));
  EXPECT_THAT(descendants_in({{10, 1}, {20, 1}}, 20), IsEmpty());
}

TEST(Descendants, ACircleOfReusedNumbersEnds) {
  EXPECT_THAT(descendants_in({{10, 11}, {11, 10}}, 10), ElementsAre(11));
}

TEST(Descendants, LivingChildrenAreNeitherTheTargetsNorTheCallerAndWhatItStarted) {
  // A shell 10 with a server 20, its workers, and fathom 30 with a child.
  const std::vector<std::pair<int, int>> parents = {{10, 1},  {20, 10}, {21, 20},
                                                    {22, 20}, {30, 10}, {31, 30}};
  EXPECT_THAT(living_children_in(parents, {10}, 30), UnorderedElementsAre(20, 21, 22));
  EXPECT_THAT(living_children_in(parents, {20, 21}, 30), ElementsAre(22));
  EXPECT_THAT(living_children_in(parents, {22}, 30), IsEmpty());
}

TEST(Descendants, OfACommandThatTheCallerStartedAreIncluded) {
  // fathom 30, its command 31 with two generations below it, and a process of fathom's own.
  const std::vector<std::pair<int, int>> parents = {{30, 10}, {31, 30}, {32, 31}, {33, 32}, {34, 30}};
  EXPECT_THAT(living_children_in(parents, {31}, 30), UnorderedElementsAre(32, 33));
}

TEST(Descendants, TheStarterOfAGroupHasStartedAllOthers) {
  const std::vector<std::pair<int, int>> parents = {{20, 1}, {21, 20}, {22, 21}, {30, 1}};
  EXPECT_EQ(starter_in(parents, {22, 21, 20}), 20);
  EXPECT_EQ(starter_in(parents, {21, 22}), 21);
  EXPECT_EQ(starter_in(parents, {30}), 30);
  EXPECT_EQ(starter_in(parents, {20, 30}), std::nullopt);
  EXPECT_EQ(starter_in(parents, {}), std::nullopt);
}

TEST(Descendants, OfAProcessThatRuns) {
  const pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  EXPECT_THAT(descendants(::getpid()), ElementsAre(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace fathom::process
