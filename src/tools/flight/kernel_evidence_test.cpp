#include "tools/flight/kernel_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::flight {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string record(const std::string& group, int pid, const std::string& name) {
  const std::string number = std::to_string(pid);
  return name + " invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n" +
         "memory: usage 204800kB, limit 204800kB, failcnt 36\n" +
         "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=" + group +
         ",task_memcg=" + group + ",task=" + name + ",pid=" + number + ",uid=0\n" +
         "Memory cgroup out of memory: Killed process " + number + " (" + name +
         ") total-vm:300000kB, anon-rss:200000kB, file-rss:1000kB, shmem-rss:0kB, UID:0 pgtables:400kB "
         "oom_score_adj:0\n";
}

TEST(KernelEvidence, RecordOfARecordedProcessIsKeptAndReadAgain) {
  const std::string log =
      "usb 1-1: new device\n" + record("/a", 7, "node") + "eth0: link up\n" + record("/b", 8, "other");
  const AboutUs us{{7}, "/a"};
  const std::string kept = evidence_in(log, us);
  EXPECT_THAT(kept, HasSubstr("Killed process 7"));
  EXPECT_THAT(kept, Not(HasSubstr("Killed process 8")));
  const auto read = read_evidence(kept, us);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->scope, oom::Scope::kGroup);
  EXPECT_EQ(read->kills.at(0).pid, 7);
  EXPECT_EQ(read->kills.at(0).anon_bytes, 200'000U << 10);
}

TEST(KernelEvidence, OfSeveralTheLastCounts) {
  const std::string kept = evidence_in(record("/a", 7, "first") + record("/a", 7, "second"), {{7}, "/a"});
  EXPECT_THAT(kept, HasSubstr("second"));
  EXPECT_THAT(kept, Not(HasSubstr("first")));
}

TEST(KernelEvidence, NeighbourInOurGroupIsKeptWhereNoneOfUsWasKilled) {
  const std::string kept = evidence_in(record("/a/below", 9, "neighbour"), {{7}, "/a"});
  EXPECT_THAT(kept, HasSubstr("neighbour"));
  EXPECT_THAT(evidence_in(record("/ab", 9, "stranger"), {{7}, "/a"}), IsEmpty());
  EXPECT_THAT(evidence_in(record("/ab", 9, "stranger"), {{7}, ""}), IsEmpty());
}

// Of more than ten kills in five seconds.
TEST(KernelEvidence, LineOfTheVictimAloneIsEnough) {
  const AboutUs us{{7}, "/a"};
  const std::string kept =
      evidence_in(record("/b", 8, "other") +
                      "Memory cgroup out of memory: Killed process 7 (node) total-vm:8kB, anon-rss:4kB\n" +
                      "Memory cgroup out of memory: Killed process 9 (last) total-vm:8kB, anon-rss:4kB\n",
                  us);
  const auto read = read_evidence(kept, us);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kills.at(0).pid, 7);
}

TEST(KernelEvidence, OfALongRecordTheTableInItsMidstIsLeftOut) {
  std::string text = record("/a", 7, "node");
  std::string table;
  for (int i = 0; i < 5000; ++i) table += "[  " + std::to_string(i) + "]  0  1  2  3  4  0  0 other\n";
  text.insert(text.find("oom-kill:"), table);
  const std::string kept = evidence_in(text, {{7}, "/a"});
  EXPECT_LE(kept.size(), kMostText);
  EXPECT_THAT(kept, HasSubstr("invoked oom-killer"));
  EXPECT_THAT(kept, HasSubstr("Killed process 7"));
}

TEST(KernelEvidence, LogOfOtherThingsHasNone) {
  EXPECT_THAT(evidence_in("", {{7}, "/a"}), IsEmpty());
  EXPECT_THAT(evidence_in("no newline", {{7}, "/a"}), IsEmpty());
  EXPECT_THAT(evidence_in("a\n\n\nb", {{7}, "/a"}), IsEmpty());
  EXPECT_FALSE(read_evidence("", {{7}, "/a"}));
}

}  // namespace
}  // namespace fathom::flight
