// The kernel's counts of its OOM kills.
#include "record/session/memory/oom_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace fathom::session {
namespace {

namespace fs = std::filesystem;
using Cause = OomWatch::Group::Cause;

constexpr std::int32_t kPid = 7;

TEST(OomWatch, KillsAreReadOfBothVersions) {
  EXPECT_EQ(parse_oom_kills("low 0\nhigh 12\nmax 30\noom 2\noom_kill 1\noom_group_kill 0\n"), 1u);
  EXPECT_EQ(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"), 7u);
  EXPECT_EQ(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\n"), std::nullopt) << "kernels before 4.13";
  EXPECT_EQ(parse_oom_kills("oom_kill many\n"), std::nullopt);
  EXPECT_EQ(parse_oom_kills(""), std::nullopt);
  EXPECT_EQ(parse_ooms("low 0\nhigh 12\nmax 30\noom 2\noom_kill 1\noom_group_kill 0\n"), 2u);
  EXPECT_EQ(parse_ooms("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"), std::nullopt);
}

TEST(OomWatch, WithoutAReadingThereIsNoKill) {
  EXPECT_FALSE(OomWatch().kill());
}

// Folders like those of the kernel: /, /slice with a limit, and /slice/node.
class Groups : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "fathom_oom_XXXXXX";
    ASSERT_NE(::mkdtemp(root_.data()), nullptr);
    fs::create_directories(root_ + "/slice/node");
    write("/cgroup.procs", "");
    for (const char* group : {"/slice", "/slice/node"}) {
      write(std::string(group) + "/cgroup.procs", "");
      write(std::string(group) + "/cgroup.events", "populated 1\n");
      events(group, 0, 0);
      limit(group, "max");
    }
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const { std::ofstream(root_ + path) << text; }
  void events(const std::string& group, int ooms, int kills) const {
    write(group + "/memory.events",
          "max 9\noom " + std::to_string(ooms) + "\noom_kill " + std::to_string(kills) + "\n");
  }
  void limit(const std::string& group, const std::string& bytes) const {
    write(group + "/memory.max", bytes + "\n");
  }
  void look() { watch_.look(kPid, {2, root_ + "/slice/node", "/slice/node"}); }

  std::string root_;
  OomWatch watch_;
};

TEST_F(Groups, OneWhoseLimitWasMetIsTheCause) {
  limit("/slice", "1073741824");
  limit("/slice/node", "536870912");
  look();
  EXPECT_FALSE(watch_.kill());
  events("/slice/node", 1, 1);
  events("/slice", 1, 1);  // counts what is below it, too
  EXPECT_FALSE(watch_.kill()) << "nobody looked again";
  watch_.refresh();
  const auto kill = watch_.kill();
  ASSERT_TRUE(kill);
  EXPECT_EQ(kill->cause, Cause::kLimit);
  EXPECT_EQ(kill->limited, "/slice/node");
  EXPECT_EQ(kill->limit_bytes, 536870912u);
}

TEST_F(Groups, TheLimitOfOneAboveIsNamed) {
  limit("/slice", "1073741824");
  look();
  events("/slice/node", 0, 1);
  events("/slice", 1, 1);
  watch_.refresh();
  const auto kill = watch_.kill();
  ASSERT_TRUE(kill);
  EXPECT_EQ(kill->cause, Cause::kLimit);
  EXPECT_EQ(kill->limited, "/slice");
}

TEST_F(Groups, WhereNoLimitWasMetTheMachineWasFull) {
  limit("/slice/node", "536870912");
  look();
  events("/slice/node", 0, 1);
  events("/slice", 0, 1);
  watch_.refresh();
  const auto kill = watch_.kill();
  ASSERT_TRUE(kill);
  EXPECT_EQ(kill->cause, Cause::kMachine);
  EXPECT_EQ(kill->limited, "");
}

TEST_F(Groups, InANamespaceThatHidesTheRootAreUnknown) {
  write("/cgroup.events", "populated 1\n");
  look();
  events("/slice/node", 0, 1);
  events("/slice", 0, 1);
  watch_.refresh();
  const auto kill = watch_.kill();
  ASSERT_TRUE(kill);
  EXPECT_EQ(kill->cause, Cause::kNotKnown);
}

TEST_F(Groups, WhatWasSeenLastIsKeptWhenItIsGone) {
  limit("/slice/node", "536870912");
  look();
  events("/slice/node", 1, 1);
  watch_.refresh();
  fs::remove_all(root_ + "/slice");
  watch_.refresh();
  const auto kill = watch_.kill();
  ASSERT_TRUE(kill);
  EXPECT_EQ(kill->cause, Cause::kLimit);
  EXPECT_EQ(kill->kills, 1u);
}

// Its last kill may have come after the last look: no kill that was seen is not the same as none.
TEST_F(Groups, OneThatIsGoneDiffersFromOneWithoutKills) {
  look();
  watch_.refresh();
  ASSERT_TRUE(watch_.group_of(kPid));
  EXPECT_FALSE(watch_.group_of(kPid)->gone);
  fs::remove_all(root_ + "/slice/node");
  watch_.refresh();
  EXPECT_TRUE(watch_.group_of(kPid)->gone);
  EXPECT_EQ(watch_.group_of(kPid)->kills, 0u);
}

// As services are that are started again.
TEST_F(Groups, OneThatWasCreatedAgainUnderItsNameIsAnother) {
  look();
  fs::rename(root_ + "/slice/node", root_ + "/old");
  fs::create_directories(root_ + "/slice/node");
  events("/slice/node", 3, 3);
  watch_.refresh();
  EXPECT_TRUE(watch_.group_of(kPid)->gone);
  EXPECT_FALSE(watch_.kill()) << "those are not its own";
  watch_.look(kPid + 1, {2, root_ + "/slice/node", "/slice/node"});
  events("/slice/node", 4, 4);
  watch_.refresh();
  EXPECT_TRUE(watch_.group_of(kPid)->gone);
  EXPECT_EQ(watch_.group_of(kPid + 1)->kills, 1u);
}

}  // namespace
}  // namespace fathom::session
