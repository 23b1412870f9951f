#include "record/session/accounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "model/block_reads.h"
#include "model/unsampled.h"
#include "record/session/tracking/testing_source.h"

namespace fathom::session {
namespace {

// Records this process.
struct AccountsTest : testing::Test {
  void record() {
    const auto begun = run.begin({::getpid()}, [](std::int32_t) { return EngineRun::Unreadable::kFails; });
    ASSERT_TRUE(begun);
    accounts.starts();
    accounts.begun();
    const std::uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 50'000'000;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
    }
    run.refresh_cpu_times();
    profile.meta.end_ns = monotonic_ns();
    accounts.ended();
  }
  bool has_fact(const char* name) const { return profile.meta.facts.contains(name); }

  RecordOptions options;
  model::Profile profile;
  model::Builder builder{profile};
  Names names{options, profile, builder};
  FakeSource* source = new FakeSource;  // of `run`
  EngineRun run{options, profile, builder, names.worker(), std::unique_ptr<Source>(source)};
  Accounts accounts{options, profile, run, names};
};

TEST_F(AccountsTest, SamplesAreExpectedOfTheCpuTimeThatIsSampled) {
  record();
  accounts.update(false);
  const double all = static_cast<double>(run.cpu_times().total_ns()) * 1e-9 * options.frequency_hz;
  EXPECT_GT(all, 30) << "of 50 ms at 999 Hz";
  EXPECT_DOUBLE_EQ(profile.quality.expected_samples, all);
  EXPECT_FALSE(has_fact(model::kNotSampledFact));
}

TEST_F(AccountsTest, ReadsFromBlockDevicesCountSinceTheBeginning) {
  record();
  accounts.update(false);
  const std::string fact = model::block_reads_fact(::getpid());
  ASSERT_TRUE(has_fact(fact.c_str()));
  EXPECT_LT(std::stoull(profile.meta.facts[fact]), 1'000'000'000u);
  accounts.update(true);
  EXPECT_TRUE(has_fact(fact.c_str()));
}

TEST_F(AccountsTest, WhatMayNotBeSampledPromisesNoSamples) {
  source->not_sampled = {{::getpid()}, "it is not yours", "be root"};
  record();
  accounts.update(false);
  EXPECT_DOUBLE_EQ(profile.quality.expected_samples, 0);
  EXPECT_EQ(profile.meta.facts[model::kNotSampledFact], "it is not yours");
  EXPECT_EQ(profile.meta.facts[model::kNotSampledTryFact], "be root");
  EXPECT_TRUE(has_fact("cpu_runs"));
}

// An engine that samples nothing does not know how often threads ran, either.
TEST_F(AccountsTest, AnEngineWithoutASamplerSaysWhyNothingIsSampled) {
  source->samples = false;
  record();
  accounts.update(false);
  EXPECT_DOUBLE_EQ(profile.quality.expected_samples, 0);
  EXPECT_TRUE(has_fact(model::kNotSampledFact));
  EXPECT_FALSE(has_fact("cpu_runs"));
}

TEST_F(AccountsTest, AnEngineThatWasChosenIsNoLackOfRights) {
  options.engine = Engine::kProc;
  source->samples = false;
  record();
  accounts.update(false);
  EXPECT_EQ(profile.meta.facts[model::kNotSampledFact], "engine proc takes no samples");
  EXPECT_EQ(profile.meta.facts[model::kNotSampledTryFact], "fathom record without --engine");
}

TEST_F(AccountsTest, ARecordingWithoutCpuExpectsNoSamples) {
  options.cpu = false;
  source->samples = false;
  record();
  accounts.update(false);
  EXPECT_DOUBLE_EQ(profile.quality.expected_samples, 0);
  EXPECT_FALSE(has_fact(model::kNotSampledFact));
}

TEST_F(AccountsTest, TheEngineCountsWhatItLostAndItsNotesComeOnce) {
  source->lost = 12;
  source->own_notes = {"the kernel hides something"};
  record();
  accounts.update(false);
  accounts.update(true);
  EXPECT_EQ(profile.quality.lost_ring_full, 12u);
  EXPECT_THAT(profile.quality.notes, testing::ElementsAre("the kernel hides something"));
}

TEST_F(AccountsTest, KnowsWhatFathomItselfTook) {
  record();
  accounts.update(true);
  EXPECT_GE(profile.quality.profiler_cpu_ns, 50'000'000u);
  EXPECT_GT(profile.quality.profiler_rss_bytes, 1u << 20);
}

TEST(ChangingNote, TakesThePlaceOfWhatItSaidBefore) {
  model::Quality quality;
  ChangingNote note;
  note.set(quality, "");
  EXPECT_THAT(quality.notes, testing::IsEmpty());
  note.set(quality, "one is lost");
  note_once(quality, "another");
  note.set(quality, "two are lost");
  EXPECT_THAT(quality.notes, testing::ElementsAre("another", "two are lost"));
  note.set(quality, "two are lost");
  note_once(quality, "another");
  EXPECT_THAT(quality.notes, testing::ElementsAre("another", "two are lost"));
  note.set(quality, "");
  EXPECT_THAT(quality.notes, testing::ElementsAre("another"));
}

}  // namespace
}  // namespace fathom::session
