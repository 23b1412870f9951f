#include "record/session/tracking/engine_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include "record/session/tracking/testing_source.h"

namespace fathom::session {
namespace {

constexpr std::int32_t kNoProcess = 0x3ffffff0;  // above the kernel's limit of process numbers

void use_cpu(std::int64_t ns) {
  const auto used = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
  };
  const std::int64_t until = used() + ns;
  while (used() < until) {
  }
}

// Records this process.
struct EngineRunTest : testing::Test {
  EngineRunTest() { source->process = self; }
  Result<> begin(const std::vector<std::int32_t>& pids,
                 EngineRun::Unreadable if_unreadable = EngineRun::Unreadable::kFails) {
    return run.begin(pids, [=](std::int32_t) { return if_unreadable; });
  }
  std::string entered() const { return "enter " + std::to_string(self); }

  const std::int32_t self = ::getpid();
  RecordOptions options;
  model::Profile profile;
  model::Builder builder{profile};
  symbolize::Worker symbols{symbolize::Options{}};
  FakeSource* source = new FakeSource;  // of `run`
  EngineRun run{options, profile, builder, symbols, std::unique_ptr<Source>(source)};
};

TEST_F(EngineRunTest, BeginsWithTheThreadsOfProcessesThatRun) {
  ASSERT_TRUE(begin({self}));
  EXPECT_THAT(source->calls, testing::ElementsAre("start 1", entered()));
  EXPECT_TRUE(run.processes().is_recorded(self));
  EXPECT_NE(profile.meta.start_ns, 0u);
  EXPECT_FALSE(run.failed());
}

TEST_F(EngineRunTest, AnEngineThatDoesNotStartHasFailed) {
  source->starts = fail(ErrorKind::kPermission, "not today");
  const auto begun = begin({self});
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().message, "not today");
  EXPECT_TRUE(run.failed());
  EXPECT_THAT(source->calls, testing::ElementsAre("start 1"));
}

TEST_F(EngineRunTest, AnEngineThatCannotWaitForAnExecHasFailed) {
  source->expects = fail(ErrorKind::kSystem, "too many files");
  EXPECT_FALSE(run.begin_with_exec(self));
  EXPECT_TRUE(run.failed());
  EXPECT_THAT(source->calls, testing::ElementsAre("expect " + std::to_string(self)));
}

// A target that is not there is an error, and no fault of the engine; a child or a member of a group is done without.
TEST_F(EngineRunTest, AProcessThatIsNotThereIsAnErrorIfItIsATarget) {
  EXPECT_FALSE(begin({self, kNoProcess}));
  EXPECT_FALSE(run.failed());
  EXPECT_THAT(source->calls, testing::IsEmpty());
  for (const auto done_without : {EngineRun::Unreadable::kIsNoted, EngineRun::Unreadable::kIsIgnored}) {
    EXPECT_TRUE(begin({self, kNoProcess}, done_without));
    EXPECT_THAT(profile.quality.notes, testing::IsEmpty())
        << "it has ended, and is not hidden from this user";
  }
}

TEST_F(EngineRunTest, AnEngineWithoutWaitsIsAskedForNone) {
  source->sees_waits = false;
  ASSERT_TRUE(begin({self}));
  run.sum_waits(5);
  run.stop();
  run.cut_waits(6);
  EXPECT_THAT(source->calls, testing::ElementsAre("start 1", "stop"));
  EXPECT_EQ(source->sums, 0u);
}

TEST_F(EngineRunTest, SumsOfWaitsComeIntoTheProfile) {
  ASSERT_TRUE(begin({self}));
  run.sum_waits(profile.meta.start_ns + 1);
  run.sum_waits(profile.meta.start_ns + 2);
  EXPECT_EQ(profile.quality.unwalked_waits, 2u) << "the sums are those since the start";
  run.cut_waits(profile.meta.start_ns + 3);
  EXPECT_EQ(profile.quality.unwalked_waits, 3u);
}

TEST_F(EngineRunTest, MoreProcessesJoinIfTheEngineTakesThem) {
  ASSERT_TRUE(begin({}));
  EXPECT_FALSE(run.join(self));
  source->more = true;
  EXPECT_FALSE(run.join(kNoProcess));
  EXPECT_TRUE(run.join(self));
  EXPECT_TRUE(run.join(self));
  EXPECT_THAT(source->calls, testing::ElementsAre("start 0", entered())) << "entered once";
}

// What the engine may not sample, and all if it samples nothing, promises no samples.
TEST_F(EngineRunTest, CpuTimeThatIsNotSampledIsKnownAsSuch) {
  ASSERT_TRUE(begin({self}));
  use_cpu(30'000'000);
  run.refresh_cpu_times(true);
  EXPECT_EQ(run.cpu_times().total_ns(), 0u) << "nothing is unsampled: it was not read";
  run.refresh_cpu_times();
  const std::uint64_t sampled = run.cpu_times().total_ns();
  EXPECT_GT(sampled, 0u);
  EXPECT_EQ(run.cpu_times().unsampled_ns(), 0u);

  source->not_sampled = {{self}, "it is not yours", "be root"};
  use_cpu(30'000'000);
  run.refresh_cpu_times(true);
  const std::uint64_t hidden = run.cpu_times().unsampled_ns();
  EXPECT_EQ(hidden, run.cpu_times().total_ns() - sampled);
  EXPECT_GT(hidden, 0u);

  source->not_sampled = {};
  source->samples = false;
  use_cpu(30'000'000);
  run.refresh_cpu_times(true);
  EXPECT_GT(run.cpu_times().unsampled_ns(), hidden);
  EXPECT_FALSE(unsampled_by(run.source(), run.processes()).why.empty());
  EXPECT_THAT(unsampled_by(run.source(), run.processes()).pids, testing::ElementsAre(self));
}

TEST_F(EngineRunTest, ProcessesThatEndedAreTakenOnce) {
  ASSERT_TRUE(begin({self}));
  sources::ThreadCpuTime thread{profile.meta.start_ns, self, self + 1, 7, {}};
  sources::ThreadCpuTime process{profile.meta.start_ns, self, self, 8, sources::ProcessEnd{9, true}};
  source->next.samples = {thread, process};
  run.drain();
  const auto ended = run.take_ended_processes();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].process->wait_status, 9);
  EXPECT_EQ(run.cpu_times().ended_threads(), 2u);
  run.drain();
  EXPECT_THAT(run.take_ended_processes(), testing::IsEmpty());
}

}  // namespace
}  // namespace fathom::session
