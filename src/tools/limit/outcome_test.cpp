#include "tools/limit/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

namespace fathom::limit {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

Outcome ended_with(int status, int signal = 0) {
  Outcome outcome;
  outcome.limits.memory_bytes = 200 << 20;
  outcome.version = 1;
  outcome.group = "/x/fathom-limit-1-1";
  outcome.pid = 700;
  outcome.status = status;
  outcome.signal = signal;
  outcome.seconds = 1.5;
  outcome.state.peak_bytes = 150 << 20;
  return outcome;
}

oom::Record record_of(int pid, const std::string& group) {
  oom::Record record;
  record.scope = oom::Scope::kGroup;
  record.limited_group = record.victim_group = group;
  record.kills.push_back({.pid = pid, .name = "db", .measured = true, .anon_bytes = 190 << 20});
  return record;
}

TEST(Verdict, EndWithZeroAndWithoutSwapIsAPass) {
  const Outcome outcome = ended_with(0);
  EXPECT_EQ(judge(outcome), Verdict::kPassed);
  EXPECT_EQ(describe(outcome), "passed with 200.0 MiB without swap");
}

TEST(Verdict, SwapThatWasAllowedAndNotUsedIsReported) {
  Outcome outcome = ended_with(0);
  outcome.limits.swap_bytes = 100 << 20;
  EXPECT_EQ(judge(outcome), Verdict::kPassed);
  EXPECT_EQ(describe(outcome), "passed with 200.0 MiB; of 100.0 MiB of swap none was used");
}

TEST(Verdict, SwapIsNoPass) {
  Outcome outcome = ended_with(0);
  outcome.swapped_bytes = 103 << 20;
  EXPECT_EQ(judge(outcome), Verdict::kSwapped);
  EXPECT_THAT(describe(outcome), HasSubstr("passed, but swapped 103.0 MiB"));
}

TEST(Verdict, SigkillWithTheKernelsCountIsADeathAtTheLimit) {
  Outcome outcome = ended_with(137, SIGKILL);
  outcome.state.oom_kills = 1;
  outcome.records.push_back(record_of(700, outcome.group));
  EXPECT_EQ(judge(outcome), Verdict::kDied);
  EXPECT_EQ(describe(outcome), "the kernel killed db (pid 700) at its limit of 200.0 MiB without swap");
}

TEST(Verdict, SigkillWithoutItCameFromAnotherProcess) {
  const Outcome outcome = ended_with(137, SIGKILL);
  EXPECT_EQ(judge(outcome), Verdict::kKilled);
  EXPECT_THAT(describe(outcome), HasSubstr("SIGKILL ended the command; the kernel killed nothing"));
}

TEST(Verdict, ChildThatWasKilledIsNoPassThoughTheCommandEndsWithZero) {
  Outcome outcome = ended_with(0);
  outcome.state.oom_kills = 1;
  outcome.records.push_back(record_of(701, outcome.group));
  EXPECT_EQ(judge(outcome), Verdict::kDied);
  EXPECT_THAT(describe(outcome), HasSubstr("though the command ended with 0"));
}

TEST(Verdict, OwnFailureDiffersFromTheLimit) {
  const Outcome outcome = ended_with(3);
  EXPECT_EQ(judge(outcome), Verdict::kFailed);
  EXPECT_EQ(describe(outcome), "the command itself failed with 3; the kernel killed nothing");
}

TEST(Verdict, WhatTheKernelDidCountsBeforeWhatTheUserDid) {
  Outcome outcome = ended_with(137, SIGKILL);
  outcome.interrupted = true;
  EXPECT_EQ(judge(outcome), Verdict::kInterrupted);
  outcome.state.oom_kills = 1;
  EXPECT_EQ(judge(outcome), Verdict::kDied);
}

TEST(Verdict, EachHasAnExitStatusOfItsOwnForScripts) {
  EXPECT_EQ(exit_status(Verdict::kPassed), 0);
  EXPECT_EQ(exit_status(Verdict::kDied), 5);
  EXPECT_EQ(exit_status(Verdict::kSwapped), 6);
  EXPECT_EQ(exit_status(Verdict::kFailed), 7);
  EXPECT_EQ(exit_status(Verdict::kKilled), 7);
  EXPECT_EQ(exit_status(Verdict::kInterrupted), 1);
}

TEST(Records, OfOtherGroupsAreNotOurs) {
  std::vector<oom::Record> all{record_of(1, "/x/fathom-limit-1-1"), record_of(2, "/x/fathom-limit-1-10"),
                               record_of(3, "/x/fathom-limit-1-1/inner"), record_of(4, "/")};
  const auto ours = about(all, "/x/fathom-limit-1-1", {});
  ASSERT_THAT(ours, SizeIs(2));
  EXPECT_EQ(ours[0].kills[0].pid, 1);
  EXPECT_EQ(ours[1].kills[0].pid, 3);
}

TEST(Records, WithoutAGroupAreOursByTheirVictim) {
  std::vector<oom::Record> all{record_of(700, ""), record_of(701, "")};
  const auto ours = about(all, "/x/fathom-limit-1-1", {700});
  ASSERT_THAT(ours, SizeIs(1));
  EXPECT_EQ(ours[0].kills[0].pid, 700);
}

TEST(LimitText, SaysWhoDiedOfWhatAndWhatItConsistedOf) {
  Outcome outcome = ended_with(137, SIGKILL);
  outcome.state.oom_kills = 1;
  outcome.state.limit_hits = 36;
  outcome.state.minor_faults = 51000;
  outcome.state.major_faults = 4;
  outcome.records.push_back(record_of(700, outcome.group));
  outcome.machine_pressure = Pressure{2000, 1000};
  outcome.recording = "x.fathom";
  outcome.holders = {{"insert_into_index", "db", 150e6, 12e6}};
  const std::string text = to_text(outcome, 0);
  EXPECT_THAT(text, HasSubstr("peak 150.0 MiB"));
  EXPECT_THAT(text, HasSubstr("met 36 times, 1 process killed; 51,004 faults, 4 of them from disk"));
  EXPECT_THAT(text, HasSubstr("db (pid 700) was killed: anonymous 190.0 MiB"));
  EXPECT_THAT(text, HasSubstr("of the whole machine"));
  EXPECT_THAT(text, HasSubstr("ended by SIGKILL"));
  EXPECT_THAT(text, HasSubstr("held by insert_into_index in db: 143.1 MiB ±11.4 MiB live"));
  EXPECT_THAT(text, HasSubstr("fathom report --heap x.fathom"));
}

TEST(LimitText, SaysWhatIsNotKnown) {
  Outcome outcome = ended_with(137, SIGKILL);
  outcome.state.oom_kills = 1;
  outcome.state.peak_bytes.reset();
  outcome.sampled_peak_bytes = 10 << 20;
  outcome.log_unreadable = true;
  outcome.limit_above = 100 << 20;
  const std::string text = to_text(outcome, 0);
  EXPECT_THAT(text, HasSubstr("(the largest of ten readings per second)"));
  EXPECT_THAT(text, HasSubstr("the kernel log names the process, but this user cannot read it"));
  EXPECT_THAT(text, HasSubstr("a group above has a lower limit of 100.0 MiB"));
}

TEST(LimitJson, HasTheVerdictAndTheFigures) {
  Outcome outcome = ended_with(137, SIGKILL);
  outcome.state.oom_kills = 1;
  outcome.records.push_back(record_of(700, outcome.group));
  const auto json = nlohmann::json::parse(to_json(outcome));
  EXPECT_EQ(json["verdict"], "died");
  EXPECT_EQ(json["peak_bytes"], 150 << 20);
  EXPECT_EQ(json["killed"][0]["pid"], 700);
  EXPECT_TRUE(json["peak_with_swap_bytes"].is_null());
}

}  // namespace
}  // namespace fathom::limit
