#include "record/session/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/abi/walk.h"
#include "base/clock.h"
#include "model/store/reader.h"
#include "record/session/tracking/testing_source.h"

namespace fathom::session {
namespace {

// Writes down the moments at which it is called.
struct Moments final : Companion {
  void before_events(const Lent& lent, std::uint64_t) override {
    calls.push_back("before " + std::to_string(lent.profile.samples.size()));
  }
  void step(const Lent& lent, std::uint64_t) override {
    calls.push_back("after " + std::to_string(lent.profile.samples.size()));
    if (keeps) {
      lent.keep_now();
      lent.after_readings([this] { calls.emplace_back("read"); });
    }
    if (ends) lent.end_recording();
  }
  Save before_save(const Lent& lent, bool last) override {
    calls.push_back((last ? "last save " : "save ") + std::to_string(lent.profile.samples.size()));
    return Save::kAppend;
  }
  std::vector<std::string> calls;
  bool keeps = false, ends = false;
};

// Records this process with an engine that sees what the test makes up.
struct RecordingTest : testing::Test {
  RecordingTest() {
    std::filesystem::create_directory(folder);
    options.output = folder / "a.fathom";
    options.pids = {self};
    options.companions = {&moments};
    options.memory = false;
    source->process = self;
  }
  ~RecordingTest() override {
    recording.reset();
    std::filesystem::remove_all(folder);
  }

  Result<> begin() {
    recording = std::make_unique<Recording>(options, std::unique_ptr<Source>(source),
                                            std::vector<std::string>{"engine bpf is not there"});
    if (auto created = recording->create_file(); !created) return created;
    return recording->begin({self}, {self});
  }
  // What the next drain brings: a sample and its stack.
  void sample() {
    sources::StackSeen stack;
    stack.time_ns = monotonic_ns();
    stack.stack_id = 1;
    stack.pid = self;
    stack.end = WALK_ROOT;
    sources::StackSample sample;
    sample.time_ns = stack.time_ns;
    sample.tid = self;
    sample.stack_id = 1;
    source->next.samples = {stack, sample};
  }
  RecordOutcome finish() {
    recording->end();
    RecordOutcome outcome;
    const auto finished = recording->finish({}, outcome);
    EXPECT_TRUE(finished) << finished.error().message;
    return outcome;
  }
  model::Profile file() const {
    auto read = store::read(options.output);
    EXPECT_TRUE(read) << read.error().message;
    return read ? std::move(*read) : model::Profile();
  }

  const std::int32_t self = ::getpid();
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("fathom_recording_test." + std::to_string(self));
  RecordOptions options;
  Moments moments;
  FakeSource* source = new FakeSource;  // of `recording`
  std::unique_ptr<Recording> recording;
};

TEST_F(RecordingTest, WhatTheEngineSeesIsInTheFileFromTheFirstSecondOn) {
  ASSERT_TRUE(begin());
  EXPECT_TRUE(file().samples.empty()) << "the file is there from now on";
  sample();
  ASSERT_TRUE(recording->step(monotonic_ns() + 2'000'000'000));
  EXPECT_EQ(file().samples.size(), 1u);
  sample();
  const RecordOutcome outcome = finish();
  EXPECT_EQ(outcome.quality.samples, 2u);
  EXPECT_EQ(outcome.engine, "test");
  EXPECT_THAT(outcome.obstacles, testing::ElementsAre("engine bpf is not there"));
  EXPECT_EQ(outcome.file_bytes, std::filesystem::file_size(options.output));
  const model::Profile profile = file();
  EXPECT_EQ(profile.samples.size(), 2u);
  EXPECT_THAT(profile.quality.notes,
              testing::Contains("fathom used engine test, because of: engine bpf is not there"));
}

TEST_F(RecordingTest, TheEngineStopsBeforeTheLastWaitsAreCut) {
  ASSERT_TRUE(begin());
  EXPECT_THAT(source->calls, testing::ElementsAre("start 1", "enter " + std::to_string(self)));
  recording->end();
  ASSERT_EQ(source->calls.size(), 4u);
  EXPECT_EQ(source->calls[2], "stop");
  EXPECT_THAT(source->calls[3], testing::StartsWith("finish "));
  RecordOutcome outcome;
  ASSERT_TRUE(recording->finish({}, outcome));
}

// Letting go of many tracepoints takes seconds in which nothing is measured: figures per second would be too small.
TEST_F(RecordingTest, TheTimeThatTheEngineNeedsToLeaveTheKernelIsNotRecorded) {
  ASSERT_TRUE(begin());
  recording->end();
  EXPECT_NE(source->released_ns, 0u);
  RecordOutcome outcome;
  ASSERT_TRUE(recording->finish({}, outcome));
  EXPECT_LT(file().meta.end_ns, source->released_ns);
}

TEST_F(RecordingTest, AnEngineThatDoesNotStartLeavesNoFile) {
  source->starts = fail(ErrorKind::kPermission, "not today");
  EXPECT_FALSE(begin());
  EXPECT_TRUE(recording->engine_failed());
  EXPECT_FALSE(std::filesystem::exists(options.output));
}

TEST_F(RecordingTest, CompanionsSeeEventsBeforeAndAfterAndRowsBeforeTheyAreSaved) {
  ASSERT_TRUE(begin());
  EXPECT_THAT(moments.calls, testing::ElementsAre("save 0"));
  moments.calls.clear();
  sample();
  ASSERT_TRUE(recording->step(monotonic_ns()));
  EXPECT_THAT(moments.calls, testing::ElementsAre("before 0", "after 1"));
  moments.calls.clear();
  moments.keeps = true;
  ASSERT_TRUE(recording->step(monotonic_ns()));
  EXPECT_THAT(moments.calls, testing::ElementsAre("before 1", "after 1", "read", "save 1"));
  moments.calls.clear();
  finish();
  EXPECT_THAT(moments.calls, testing::ElementsAre("before 0", "last save 0"));
}

TEST_F(RecordingTest, ACompanionEndsIt) {
  ASSERT_TRUE(begin());
  EXPECT_FALSE(recording->enough());
  moments.ends = true;
  ASSERT_TRUE(recording->step(monotonic_ns()));
  EXPECT_TRUE(recording->enough());
}

TEST_F(RecordingTest, AnEngineWithoutWaitsHasNoSums) {
  source->sees_waits = false;
  ASSERT_TRUE(begin());
  ASSERT_TRUE(recording->step(monotonic_ns() + 2'000'000'000));
  finish();
  EXPECT_EQ(file().quality.unwalked_waits, 0u);
}

}  // namespace
}  // namespace fathom::session
