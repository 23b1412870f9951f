#include "record/session/recording_state.h"

#include <gtest/gtest.h>

namespace fathom::session {
namespace {

constexpr std::uint64_t kS = 1'000'000'000;

// A recording that began at 100 s.
RecordingState recording_of(const RecordingPlan& plan) {
  RecordingState state(plan);
  EXPECT_EQ(state.ready(100 * kS), Task::kBegin);
  state.begun(100 * kS);
  return state;
}

constexpr RecordingPlan kAttached{};
constexpr RecordingPlan kLaunched{.launched = true};

TEST(RecordingState, IsHeldUntilItHasBegun) {
  RecordingState state(kLaunched);
  EXPECT_EQ(state.phase(), Phase::kHeld);
  EXPECT_EQ(state.ready(7 * kS), Task::kBegin);
  EXPECT_EQ(state.phase(), Phase::kHeld) << "the driver has yet to begin";
  EXPECT_FALSE(state.ever_recorded());
  state.begun(8 * kS);
  EXPECT_EQ(state.phase(), Phase::kRecording);
  EXPECT_EQ(state.begun_ns(), 8 * kS);
  EXPECT_EQ(state.next_ns(), UINT64_MAX) << "nothing bounds it";
}

TEST(RecordingState, AnAttachedRecordingEndsAtTheFirstRequest) {
  RecordingState state = recording_of(kAttached);
  state.stop_requested(101 * kS, false);
  EXPECT_EQ(state.phase(), Phase::kFinishing);
  EXPECT_EQ(state.stopped_by(), StopReason::kInterrupted);
  EXPECT_EQ(state.written(102 * kS), Task::kNone);
  EXPECT_EQ(state.phase(), Phase::kDone);
}

TEST(RecordingState, AnAttachedTargetIsNeverAskedToEnd) {
  RecordingState state = recording_of({.record_shutdown = true, .duration_ns = 5 * kS});
  EXPECT_EQ(state.tick(105 * kS), Task::kNone);
  EXPECT_EQ(state.phase(), Phase::kFinishing);
  EXPECT_EQ(state.written(105 * kS), Task::kNone);
  EXPECT_EQ(state.phase(), Phase::kDone);
}

TEST(RecordingState, WhatIsEnoughEndsItAsALimitDoes) {
  RecordingState state = recording_of(kAttached);
  EXPECT_EQ(state.enough(103 * kS), Task::kNone);
  EXPECT_EQ(state.phase(), Phase::kFinishing);
  EXPECT_EQ(state.stopped_by(), StopReason::kEnough);
  RecordingState asked = recording_of({.launched = true, .record_shutdown = true});
  EXPECT_EQ(asked.enough(103 * kS), Task::kAskTarget) << "its shutdown is recorded, too";
  EXPECT_EQ(asked.enough(104 * kS), Task::kNone) << "once";
}

TEST(RecordingState, ALaunchedCommandIsRecordedUntilItEnds) {
  RecordingState state = recording_of(kLaunched);
  state.stop_requested(101 * kS, false);
  EXPECT_EQ(state.phase(), Phase::kTargetAsked);
  EXPECT_TRUE(state.recording());
  EXPECT_EQ(state.tick(10'000 * kS), Task::kNone);
  EXPECT_TRUE(state.recording()) << "a database takes the time it takes to save";
  state.target_ended();
  EXPECT_EQ(state.phase(), Phase::kFinishing);
  EXPECT_EQ(state.stopped_by(), StopReason::kInterrupted) << "the first cause";
  EXPECT_EQ(state.written(10'001 * kS), Task::kNone);
  EXPECT_EQ(state.phase(), Phase::kDone);
}

TEST(RecordingState, ASecondRequestEndsTheRecordingAndLeavesTheCommand) {
  RecordingState state = recording_of(kLaunched);
  state.stop_requested(101 * kS, false);
  state.stop_requested(102 * kS, false);
  EXPECT_EQ(state.phase(), Phase::kFinishing);
  EXPECT_EQ(state.written(103 * kS), Task::kNone) << "it was asked twice already";
  EXPECT_EQ(state.phase(), Phase::kDone);
}

TEST(RecordingState, ARequestToStopAtOnceDoesNotAskTheTarget) {
  RecordingState state = recording_of(kLaunched);
  state.stop_requested(101 * kS, true);
  EXPECT_EQ(state.phase(), Phase::kFinishing);
  EXPECT_EQ(state.written(101 * kS), Task::kNone);
  EXPECT_EQ(state.phase(), Phase::kDone);
}

TEST(RecordingState, TheDurationCountsFromTheFirstRecordedMoment) {
  RecordingState state(RecordingPlan{.delay_ns = 30 * kS, .duration_ns = 5 * kS});
  EXPECT_EQ(state.ready(100 * kS), Task::kLetGo);
  state.let_go(100 * kS);
  EXPECT_EQ(state.phase(), Phase::kDelayed);
  EXPECT_EQ(state.next_ns(), 130 * kS);
  EXPECT_EQ(state.tick(129 * kS), Task::kNone);
  EXPECT_EQ(state.tick(130 * kS), Task::kBegin);
  state.begun(131 * kS);
  EXPECT_EQ(state.next_ns(), 136 * kS);
  state.tick(135 * kS);
  EXPECT_EQ(state.phase(), Phase::kRecording);
  state.tick(136 * kS);
  EXPECT_EQ(state.phase(), Phase::kFinishing);
  EXPECT_EQ(state.stopped_by(), StopReason::kDuration);
}

TEST(RecordingState, AfterALimitTheFileComesFirstAndThenTheCommand) {
  RecordingState state = recording_of({.launched = true, .duration_ns = 5 * kS});
  EXPECT_EQ(state.tick(105 * kS), Task::kNone) << "nobody is asked before the file is complete";
  EXPECT_EQ(state.phase(), Phase::kFinishing);
  EXPECT_EQ(state.written(106 * kS), Task::kAskTarget);
  EXPECT_EQ(state.phase(), Phase::kWaiting);
  state.target_ended();
  EXPECT_EQ(state.phase(), Phase::kDone);
  EXPECT_EQ(state.stopped_by(), StopReason::kDuration);
}

TEST(RecordingState, ACommandThatDoesNotEndIsWaitedForWithALimit) {
  RecordingState state = recording_of({.launched = true, .duration_ns = 5 * kS});
  state.tick(105 * kS);
  state.written(106 * kS);
  EXPECT_EQ(state.next_ns(), 106 * kS + kPatienceNs);
  EXPECT_EQ(state.tick(106 * kS + kPatienceNs), Task::kNone);
  EXPECT_EQ(state.phase(), Phase::kDone);
}

TEST(RecordingState, ARequestEndsTheWaitForTheCommand) {
  RecordingState state = recording_of({.launched = true, .duration_ns = 5 * kS});
  state.tick(105 * kS);
  state.written(106 * kS);
  state.stop_requested(107 * kS, false);
  EXPECT_EQ(state.phase(), Phase::kDone);
  EXPECT_EQ(state.stopped_by(), StopReason::kDuration);
}

TEST(RecordingState, ACommandThatEndedWhileTheFileWasWrittenIsNotAsked) {
  RecordingState state = recording_of({.launched = true, .duration_ns = 5 * kS});
  state.tick(105 * kS);
  state.target_ended();
  EXPECT_EQ(state.written(106 * kS), Task::kNone);
  EXPECT_EQ(state.phase(), Phase::kDone);
}

TEST(RecordingState, AShutdownIsRecordedWhenItIsWhatIsAskedFor) {
  RecordingState state = recording_of({.launched = true, .record_shutdown = true, .duration_ns = 5 * kS});
  EXPECT_EQ(state.tick(105 * kS), Task::kAskTarget);
  EXPECT_EQ(state.phase(), Phase::kTargetAsked);
  EXPECT_EQ(state.next_ns(), 105 * kS + kPatienceNs);
  state.tick(105 * kS + kPatienceNs);
  EXPECT_EQ(state.phase(), Phase::kFinishing);
  EXPECT_EQ(state.written(120 * kS), Task::kNone) << "asked once is enough";
  EXPECT_EQ(state.phase(), Phase::kDone);
}

TEST(RecordingState, AShutdownAfterARequestKeepsItsTimeThoughTheDurationEnds) {
  RecordingState state = recording_of({.launched = true, .record_shutdown = true, .duration_ns = 5 * kS});
  state.stop_requested(104 * kS, false);
  state.tick(105 * kS);
  EXPECT_EQ(state.phase(), Phase::kTargetAsked);
  state.tick(104 * kS + kPatienceNs);
  EXPECT_EQ(state.phase(), Phase::kFinishing);
}

TEST(RecordingState, MemoryIsALimitLikeTime) {
  RecordingState state = recording_of(kLaunched);
  state.memory_reached(101 * kS);
  EXPECT_EQ(state.phase(), Phase::kFinishing);
  EXPECT_EQ(state.stopped_by(), StopReason::kMemory);
  EXPECT_EQ(state.written(102 * kS), Task::kAskTarget);
}

TEST(RecordingState, ATargetThatStandsStillCannotEndAndIsNotWaitedForLonger) {
  RecordingState state = recording_of(kLaunched);
  state.stop_requested(101 * kS, false);
  state.target_stands_still(102 * kS, true);
  state.target_stands_still(105 * kS, false);  // another process resumed it
  state.target_stands_still(106 * kS, true);
  state.target_stands_still(106 * kS + kPatienceNs - 1, true);
  EXPECT_TRUE(state.recording());
  state.target_stands_still(106 * kS + kPatienceNs, true);
  EXPECT_EQ(state.phase(), Phase::kFinishing);
  EXPECT_EQ(state.written(120 * kS), Task::kNone);
  EXPECT_EQ(state.phase(), Phase::kDone);
}

TEST(RecordingState, ATargetMayStandStillUntilItIsAskedToEnd) {
  RecordingState state = recording_of(kLaunched);
  state.target_stands_still(101 * kS, true);
  state.target_stands_still(1000 * kS, true);
  EXPECT_EQ(state.phase(), Phase::kRecording);
}

TEST(RecordingState, ARequestDuringTheDelayEndsAtOnce) {
  RecordingState attached(RecordingPlan{.delay_ns = 30 * kS});
  attached.ready(100 * kS);
  attached.let_go(100 * kS);
  attached.stop_requested(101 * kS, false);
  EXPECT_EQ(attached.phase(), Phase::kDone);
  EXPECT_FALSE(attached.ever_recorded());

  RecordingState launched(RecordingPlan{.launched = true, .delay_ns = 30 * kS});
  launched.ready(100 * kS);
  launched.let_go(100 * kS);
  launched.stop_requested(101 * kS, false);
  EXPECT_EQ(launched.phase(), Phase::kWaiting) << "its shutdown is waited for, as it got the request";
  EXPECT_EQ(launched.tick(200 * kS), Task::kNone);
  EXPECT_EQ(launched.phase(), Phase::kDone);
  EXPECT_FALSE(launched.ever_recorded());
}

TEST(RecordingState, ATargetThatEndsDuringTheDelayLeavesNothingToRecord) {
  RecordingState state(RecordingPlan{.launched = true, .delay_ns = 30 * kS});
  state.ready(100 * kS);
  state.let_go(100 * kS);
  state.target_ended();
  EXPECT_EQ(state.phase(), Phase::kDone);
  EXPECT_FALSE(state.ever_recorded());
  EXPECT_EQ(state.stopped_by(), StopReason::kTargetEnded);
}

TEST(RecordingState, AnErrorBeforeTheBeginningHasNothingToFinish) {
  RecordingState state(kLaunched);
  state.ready(100 * kS);
  state.failed();
  EXPECT_EQ(state.phase(), Phase::kFailed);
}

TEST(RecordingState, AfterAnErrorWhatWasRecordedIsFinished) {
  RecordingState state = recording_of(kLaunched);
  state.failed();
  EXPECT_EQ(state.phase(), Phase::kFinishing);
  EXPECT_EQ(state.written(101 * kS), Task::kNone) << "the command is left alone";
  EXPECT_EQ(state.phase(), Phase::kFailed);
}

// A state that waits always says for what: a time, or an input that the driver gives.
TEST(RecordingState, OnceItHasEndedNothingBringsItBack) {
  RecordingState state = recording_of(kLaunched);
  state.target_ended();
  state.written(101 * kS);
  ASSERT_TRUE(state.ended());
  state.stop_requested(102 * kS, false);
  state.target_ended();
  state.failed();
  EXPECT_EQ(state.tick(UINT64_MAX), Task::kNone);
  EXPECT_EQ(state.memory_reached(103 * kS), Task::kNone);
  EXPECT_EQ(state.phase(), Phase::kDone);
  EXPECT_EQ(state.stopped_by(), StopReason::kTargetEnded);
}

}  // namespace
}  // namespace fathom::session
