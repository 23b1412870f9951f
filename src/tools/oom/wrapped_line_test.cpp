#include "tools/oom/wrapped_line.h"

#include <gtest/gtest.h>

#include "tools/oom/records.h"

namespace fathom::oom {
namespace {

constexpr std::string_view kConstraint =
    "[  58.1] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a.scope,mems_allowed=0,oom_memcg=/a.scope,task_memcg="
    "/a.scope/b,task=python,pid=2269,uid=0";
constexpr std::string_view kKill =
    "[  58.2] Memory cgroup out of memory: Killed process 2269 (python) total-vm:31786400kB, anon-rss:13945980kB, "
    "file-rss:11996kB, shmem-rss:4kB, UID:7 pgtables:28172kB oom_score_adj:5";

// Wherever a blank or a comma lets a line be broken, and whatever stands in front of the rest.
TEST(WrappedLine, IsReadAsTheWholeOne) {
  const std::vector<Record> whole = read_records(std::string(kConstraint) + "\n" + std::string(kKill) + "\n");
  ASSERT_EQ(whole.size(), 1u);
  ASSERT_EQ(whole[0].kills.size(), 1u);
  for (const std::string_view front : {"", "      ", "> "}) {
    for (const std::string_view word : {"nodemask=", "oom_memcg=", "task_memcg=", "task=", "pid="}) {
      std::string text(kConstraint);
      text.insert(text.find("," + std::string(word)) + 1, "\n" + std::string(front));
      EXPECT_EQ(read_records(text + "\n" + std::string(kKill) + "\n"), whole) << text;
    }
    for (const std::string_view word :
         {"Killed process", "2269 (python)", "total-vm:", "file-rss:", "UID:", "oom_score_adj:"}) {
      std::string text(kKill);
      text.insert(text.find(word), "\n" + std::string(front));
      EXPECT_EQ(read_records(std::string(kConstraint) + "\n" + text + "\n"), whole) << text;
    }
  }
}

TEST(WrappedLine, IsNoOtherMessage) {
  EXPECT_FALSE(continues(kKill, "[  58.3] oom_reaper: reaped process 2269 (python), now anon-rss:0kB"));
  EXPECT_FALSE(continues(kKill, "Killed process 7 (b) total-vm:8kB, anon-rss:4kB"));
  EXPECT_FALSE(continues("memory: usage 524288kB, limit 524288kB, failcnt 24611", "swap: usage 0kB"));
  EXPECT_FALSE(continues("", "total-vm:8kB"));
}

}  // namespace
}  // namespace fathom::oom
