#include "record/session/memory/memory_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "record/session/testing_lent.h"

namespace fathom::session {
namespace {

// Of this process.
struct MemoryRecordingTest : testing::Test {
  MemoryRecordingTest() { lender.processes().read_from_proc(::getpid()); }
  std::size_t points() const {
    std::size_t count = 0;
    for (const model::Series& series : profile.series) count += series.points.size();
    return count;
  }

  RecordOptions options;
  model::Profile profile;
  model::Builder builder{profile};
  TestingLent lender{profile, builder};
};

TEST_F(MemoryRecordingTest, EachSampleIsAPointOfEachSeries) {
  MemoryRecording memory(options, profile, builder, lender.processes());
  memory.sample(1'000'000);
  const std::size_t first = points();
  EXPECT_GT(first, 0u);
  // Where there is a control group: read with each tenth sample.
  const auto refaults =
      static_cast<std::size_t>(std::ranges::count_if(profile.series, [&](const model::Series& series) {
        return profile.strings[series.name].starts_with("cgroup.refaults");
      }));
  EXPECT_GT(memory.resident_bytes(), 1u << 20);
  memory.finish(2'000'000);
  constexpr std::size_t kSums = 5;  // PSS, and what is private and shared: read rarely, and at the end
  EXPECT_EQ(points(), 2 * first - refaults + kSums);
}

TEST_F(MemoryRecordingTest, MemoryThatIsNotRecordedIsNotRead) {
  options.memory = false;
  options.metrics_url = "nonsense";
  MemoryRecording memory(options, profile, builder, lender.processes());
  memory.sample(1'000'000);
  memory.make_compositions_due();
  memory.read_compositions(monotonic_ns(), nullptr);
  memory.finish_compositions(monotonic_ns(), nullptr);
  memory.finish(2'000'000);
  memory.account();
  EXPECT_EQ(points(), 0u);
  EXPECT_THAT(profile.memory_ranges, testing::IsEmpty());
  EXPECT_THAT(profile.quality.notes, testing::IsEmpty());
  EXPECT_THAT(profile.meta.facts, testing::IsEmpty());
}

TEST_F(MemoryRecordingTest, TheEndReadsWhatMemoryIsMadeOf) {
  MemoryRecording memory(options, profile, builder, lender.processes());
  memory.read_compositions(monotonic_ns(), nullptr);
  memory.finish_compositions(monotonic_ns(), nullptr);
  memory.account();
  EXPECT_THAT(profile.memory_ranges, testing::Not(testing::IsEmpty()));
  EXPECT_TRUE(profile.meta.facts.contains("memory_maps"));
}

TEST_F(MemoryRecordingTest, MetricsThatCannotBeReadAreOneNote) {
  options.metrics_url = "nonsense://";
  MemoryRecording memory(options, profile, builder, lender.processes());
  for (std::uint64_t i = 0; i < 3; ++i) memory.sample(i * 100'000'000);
  EXPECT_THAT(profile.quality.notes, testing::ElementsAre(testing::StartsWith("metrics: ")));
}

}  // namespace
}  // namespace fathom::session
