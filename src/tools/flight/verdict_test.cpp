#include "tools/flight/verdict.h"

#include <gtest/gtest.h>

#include <csignal>

namespace fathom::flight {
namespace {

oom::Record record_of(oom::Scope scope) {
  oom::Record record;
  record.scope = scope;
  return record;
}

TEST(Verdict, RecordOfTheKernelSaysWhoseLimitItWas) {
  const oom::Record group = record_of(oom::Scope::kGroup), machine = record_of(oom::Scope::kMachine),
                    nodes = record_of(oom::Scope::kCpuset), cut_off = record_of(oom::Scope::kUnknown);
  EXPECT_EQ(judge({.signal = SIGKILL, .record = &group}), Verdict::kGroupLimit);
  EXPECT_EQ(judge({.signal = SIGKILL, .record = &machine}), Verdict::kMachine);
  EXPECT_EQ(judge({.signal = SIGKILL, .record = &nodes}), Verdict::kMachine);
  EXPECT_EQ(judge({.signal = SIGKILL, .record = &cut_off}), Verdict::kWantOfMemory);
}

TEST(Verdict, OomKillerThatWasCalledByHandIsNoLimit) {
  oom::Record record = record_of(oom::Scope::kMachine);
  record.asked_for = true;
  EXPECT_EQ(judge({.signal = SIGKILL, .record = &record}), Verdict::kAskedFor);
}

// memory.events counts the victims of the whole machine, too.
TEST(Verdict, CounterOfTheGroupAloneDoesNotSayWhoseLimitItWas) {
  EXPECT_EQ(judge({.signal = SIGKILL, .group_counted = true}), Verdict::kWantOfMemory);
}

TEST(Verdict, CountersAreBelievedIfThereIsNoRecord) {
  EXPECT_EQ(judge({.signal = SIGKILL, .group_counted = true, .cause = CountedCause::kLimit}),
            Verdict::kGroupLimit);
  EXPECT_EQ(judge({.signal = SIGKILL, .group_counted = true, .cause = CountedCause::kMachine}),
            Verdict::kMachine);
  const oom::Record record = record_of(oom::Scope::kMachine);
  EXPECT_EQ(
      judge({.signal = SIGKILL, .group_counted = true, .cause = CountedCause::kLimit, .record = &record}),
      Verdict::kMachine)
      << "the record is about this very kill";
}

TEST(Verdict, KillThatTheKernelDidNotRecordCameFromAnotherProcess) {
  EXPECT_EQ(judge({.signal = SIGKILL, .log_read = true}), Verdict::kSomebodysKill);
  EXPECT_EQ(judge({.signal = SIGKILL, .log_read = false}), Verdict::kSomebodysKill)
      << "the counter of its group did not move";
  EXPECT_EQ(judge({.signal = SIGKILL, .group_watched = false, .log_read = false}), Verdict::kKill);
}

TEST(Verdict, KillOfAnotherProcessOfTheGroupIsNotItsOwn) {
  const oom::Record record = record_of(oom::Scope::kGroup);
  EXPECT_EQ(judge({.signal = SIGKILL,
                   .group_counted = true,
                   .log_read = true,
                   .record = &record,
                   .record_is_of_another = true}),
            Verdict::kSomebodysKill);
}

TEST(Verdict, ItsOwnSignalCountsWhateverTheKernelKilled) {
  const oom::Record record = record_of(oom::Scope::kGroup);
  EXPECT_EQ(judge({.signal = SIGSEGV, .group_counted = true, .record = &record}), Verdict::kCrash);
  EXPECT_EQ(judge({.signal = SIGTERM, .group_counted = true, .record = &record}), Verdict::kSignal);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP})
    EXPECT_EQ(judge({.signal = signal}), Verdict::kCrash) << signal;
}

TEST(Verdict, ProgramThatEndedByItselfHasNone) {
  EXPECT_EQ(judge({}), std::nullopt);
  EXPECT_EQ(judge({.group_counted = true, .log_read = true}), std::nullopt) << "another one was killed";
}

TEST(Verdict, RecordIsEnoughIfTheSignalIsUnknown) {
  const oom::Record record = record_of(oom::Scope::kGroup);
  EXPECT_EQ(judge({.record = &record}), Verdict::kGroupLimit);
}

}  // namespace
}  // namespace fathom::flight
