#include "record/session/process_endings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace fathom::session {
namespace {

using testing::IsSupersetOf;
using testing::Pair;
using testing::UnorderedElementsAre;
using Facts = std::map<std::string, std::string>;

Facts told(const ProcessEndings& endings, bool launched = false) {
  Facts facts;
  endings.tell(OomWatch(), launched, facts);
  return facts;
}

TEST(ProcessEndings, OfSeveralTargetsAreKeptApart) {
  ProcessEndings endings;
  for (const int pid : {12, 13, 14}) endings.add_target(pid);
  endings.saw_target(13, 3 << 8);
  endings.saw_target(12, SIGSEGV | 0x80);  // with a core dump
  endings.saw_target(14, std::nullopt);
  EXPECT_THAT(told(endings),
              UnorderedElementsAre(Pair("end.12", "signal 11"), Pair("end.13", "exit 3"),
                                   Pair("end.14", "unknown"), Pair("signal", "11"), Pair("ended_pid", "12")));
}

TEST(ProcessEndings, OfATargetIsWhatTheEngineSawIfThereIsNoOtherSource) {
  ProcessEndings endings;
  endings.add_target(12);
  endings.saw(12, {.wait_status = 7 << 8});
  endings.saw_target(12, std::nullopt);
  EXPECT_THAT(told(endings),
              UnorderedElementsAre(Pair("end.12", "exit 7"), Pair("exit", "7"), Pair("ended_pid", "12")));
}

TEST(ProcessEndings, OfChildrenAreThoseThatASignalEnded) {
  ProcessEndings endings;
  endings.add_target(50);
  endings.saw(51, {.wait_status = SIGABRT});
  endings.saw(52, {.wait_status = 1 << 8});
  endings.saw(53, {.wait_status = SIGKILL});
  endings.saw(53, {.wait_status = 0});  // a later one with its number
  endings.saw_target(50, 0);
  EXPECT_THAT(told(endings, true),
              UnorderedElementsAre(Pair("end.50", "exit 0"), Pair("end.51", "signal 6"), Pair("exit", "0")));
}

TEST(ProcessEndings, OfALaunchedOneHaveAShellsStatusToo) {
  ProcessEndings endings;
  endings.add_target(50);
  endings.saw_target(50, SIGTERM);
  EXPECT_THAT(told(endings, true),
              UnorderedElementsAre(Pair("end.50", "signal 15"), Pair("signal", "15"), Pair("exit", "143")));
}

// The engine saw the kernel choose it, but not in which group.
TEST(ProcessEndings, OomKillIsReportedWithoutAGroupToo) {
  ProcessEndings endings;
  endings.add_target(12);
  endings.saw(12, {.wait_status = SIGKILL, .out_of_memory = true});
  endings.saw_target(12, SIGKILL);
  EXPECT_THAT(told(endings), UnorderedElementsAre(Pair("end.12", "signal 9"), Pair("oom.12", "none"),
                                                  Pair("signal", "9"), Pair("ended_pid", "12")));
}

// The group was removed with the process: its count of kills cannot be read any more.
TEST(ProcessEndings, KillInAGroupThatIsGoneNamesTheLimitThatWasKnown) {
  std::string group = testing::TempDir() + "fathom_ending_XXXXXX";
  ASSERT_NE(::mkdtemp(group.data()), nullptr);
  std::ofstream(group + "/memory.events") << "oom 0\noom_kill 0\n";
  std::ofstream(group + "/memory.max") << "67108864\n";
  OomWatch memory;
  memory.look(12, {2, group, "/slice/node"});
  std::filesystem::remove_all(group);
  memory.refresh();
  ProcessEndings endings;
  endings.add_target(12);
  endings.saw(12, {.wait_status = SIGKILL, .out_of_memory = true});
  endings.saw_target(12, SIGKILL);
  Facts facts;
  endings.tell(memory, false, facts);
  EXPECT_EQ(facts["oom.12"], "67108864 /slice/node");
}

// The kernel counted one kill in that group, and the process that it ended there is known.
TEST(ProcessEndings, KillOfAnotherProcessInAnotherGroupIsNotThisOne) {
  std::string folder = testing::TempDir() + "fathom_ending_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  OomWatch memory;
  for (const int pid : {12, 13}) {
    const std::string group = folder + "/" + std::to_string(pid);
    std::filesystem::create_directory(group);
    std::ofstream(group + "/memory.events") << "oom 0\noom_kill 0\n";
    memory.look(pid, {2, group, "/slice/" + std::to_string(pid)});
  }
  std::ofstream(folder + "/13/memory.events") << "oom 0\noom_kill 1\n";
  memory.refresh();
  ProcessEndings endings;
  for (const int pid : {12, 13}) {
    endings.add_target(pid);
    endings.saw(pid, {.wait_status = SIGKILL, .out_of_memory = true});
    endings.saw_target(pid, SIGKILL);
  }
  Facts facts;
  endings.tell(memory, false, facts);
  EXPECT_EQ(facts["oom.12"], "none");
  EXPECT_THAT(facts["oom.13"], testing::EndsWith(" /slice/13"));
  std::filesystem::remove_all(folder);
}

// Without an engine that sees the kernel choose, the count of the group is all there is.
TEST(ProcessEndings, KillInARemovedGroupMayBeAnOomKillOrNot) {
  std::string group = testing::TempDir() + "fathom_ending_XXXXXX";
  ASSERT_NE(::mkdtemp(group.data()), nullptr);
  std::ofstream(group + "/memory.events") << "oom 0\noom_kill 0\n";
  OomWatch memory;
  memory.look(12, {2, group, "/slice/node"});
  memory.look(13, {2, group, "/slice/node"});
  ProcessEndings endings;
  endings.add_target(12);
  endings.add_target(13);
  endings.saw_target(12, SIGKILL);
  endings.saw_target(13, SIGTERM);
  Facts before, after;
  endings.tell(memory, false, before);
  EXPECT_FALSE(before.contains("oom_unknown.12")) << "it is there, and counted none";
  std::filesystem::remove_all(group);
  memory.refresh();
  endings.tell(memory, false, after);
  EXPECT_EQ(after["oom_unknown.12"], "/slice/node");
  EXPECT_FALSE(after.contains("oom.12"));
  EXPECT_FALSE(after.contains("oom_unknown.13")) << "that signal is not the kernel's";
}

TEST(ProcessEndings, OfAStormOfKilledChildrenAreLimitedAndTheTargetIsAmongThem) {
  ProcessEndings endings;
  endings.add_target(1);
  for (int pid = 2; pid < 10'000; ++pid) endings.saw(pid, {.wait_status = SIGKILL});
  endings.saw(1, {.wait_status = SIGKILL});
  endings.saw_target(1, std::nullopt);
  const Facts facts = told(endings);
  EXPECT_LE(facts.size(), ProcessEndings::kMostChildren + 10);
  EXPECT_THAT(facts, IsSupersetOf({Pair("end.1", "signal 9"), Pair("signal", "9")}));
}

}  // namespace
}  // namespace fathom::session
