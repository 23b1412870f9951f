// What the kernel says of its kills for want of memory.
#include "session/memory/oom_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace fathom::session {
namespace {

TEST(OomWatch, KillsAreReadOfBothVersions) {
  EXPECT_EQ(parse_oom_kills("low 0\nhigh 12\nmax 30\noom 2\noom_kill 1\noom_group_kill 0\n"), 1u);
  EXPECT_EQ(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"), 7u);
  EXPECT_EQ(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\n"), std::nullopt) << "kernels before 4.13";
  EXPECT_EQ(parse_oom_kills("oom_kill many\n"), std::nullopt);
  EXPECT_EQ(parse_oom_kills(""), std::nullopt);
}

TEST(OomWatch, WhereNobodyLookedThereIsNoKill) {
  EXPECT_FALSE(OomWatch().kill());
}

}  // namespace
}  // namespace fathom::session
