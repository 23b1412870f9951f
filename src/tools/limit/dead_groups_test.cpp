#include "tools/limit/dead_groups.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace fathom::limit {
namespace {

namespace fs = std::filesystem;

int pid_of_nobody() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(DeadGroups, AnEmptyGroupOfAFathomThatIsGoneIsRemovedAndNothingElse) {
  std::string parent = "/tmp/dead_groups.XXXXXX";
  ASSERT_NE(::mkdtemp(parent.data()), nullptr);
  const std::string dead = group_name(pid_of_nobody(), 1), alive = group_name(::getpid(), 1);
  for (const std::string& name : {dead, alive, std::string("fathom-limit-x-1"), std::string("other-1-1")})
    fs::create_directory(parent + "/" + name);
  EXPECT_EQ(remove_dead_groups(parent), 1);
  EXPECT_FALSE(fs::exists(parent + "/" + dead));
  for (const std::string& name : {alive, std::string("fathom-limit-x-1"), std::string("other-1-1")})
    EXPECT_TRUE(fs::exists(parent + "/" + name)) << name;
  fs::remove_all(parent);
}

TEST(DeadGroups, AGroupThatHoldsSomethingStays) {
  std::string parent = "/tmp/dead_groups.XXXXXX";
  ASSERT_NE(::mkdtemp(parent.data()), nullptr);
  const std::string dead = parent + "/" + group_name(pid_of_nobody(), 1);
  fs::create_directories(dead + "/below");
  EXPECT_EQ(remove_dead_groups(parent), 0);
  EXPECT_TRUE(fs::exists(dead));
  fs::remove_all(parent);
}

}  // namespace
}  // namespace fathom::limit
