#include "linux/process/standstill.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/process/cgroup.h"

namespace fathom::process {
namespace {

TEST(Standstill, AStoppedProcessStandsStillUntilItIsResumed) {
  const pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  EXPECT_EQ(standstill(child), Standstill::kNone);
  ::kill(child, SIGSTOP);
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  EXPECT_EQ(standstill(child), Standstill::kStopped);
  ::kill(child, SIGCONT);
  ::waitpid(child, &status, WCONTINUED);
  EXPECT_EQ(standstill(child), Standstill::kNone);
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  EXPECT_EQ(standstill(child), Standstill::kNone) << "gone";
}

TEST(Standstill, BothFreezersSayItInTheirOwnWords) {
  EXPECT_TRUE(says_frozen_version_1("FROZEN\n"));
  EXPECT_TRUE(says_frozen_version_1("FREEZING\n"));
  EXPECT_FALSE(says_frozen_version_1("THAWED\n"));
  EXPECT_FALSE(says_frozen_version_1(""));
  EXPECT_TRUE(says_frozen_version_2("populated 1\nfrozen 1\n"));
  EXPECT_FALSE(says_frozen_version_2("populated 1\nfrozen 0\n"));
  EXPECT_FALSE(says_frozen_version_2("frozen 10\n"));
}

TEST(Standstill, AFolderIsFoundInEitherVersion) {
  const std::vector<CgroupMembership> memberships{{7, {"freezer"}, "/a/b"}, {0, {}, "/c"}};
  const std::vector<CgroupMount> mounts{{1, "/", "/sys/fs/cgroup/freezer", {"rw", "freezer"}},
                                        {2, "/", "/sys/fs/cgroup/unified", {"rw"}}};
  EXPECT_EQ(cgroup_directory(memberships, mounts, "freezer"), "/sys/fs/cgroup/freezer/a/b");
  EXPECT_EQ(cgroup_directory(memberships, mounts, ""), "/sys/fs/cgroup/unified/c");
  EXPECT_EQ(cgroup_directory(memberships, mounts, "memory"), std::nullopt);
}

}  // namespace
}  // namespace fathom::process
