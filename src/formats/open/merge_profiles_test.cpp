#include "formats/open/merge_profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/call_tree.h"
#include "analysis/core/hand_made_profile.h"
#include "model/event_samples.h"
#include "model/random_profile.h"
#include "model/recorded_time.h"

namespace fathom::open {
namespace {

using model::Metric;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::int64_t total_of(const model::Profile& profile, Metric metric) {
  return analysis::build_call_tree(profile, {.selection = {.metric = metric}}).total;
}

Merged merge(std::vector<model::Profile> profiles) {
  std::vector<MergeInput> inputs;
  for (std::size_t i = 0; i < profiles.size(); ++i)
    inputs.push_back({std::string(1, static_cast<char>('a' + i)), std::move(profiles[i])});
  return merge_profiles(std::move(inputs)).value();
}

std::string refusal(std::vector<model::Profile> profiles) {
  std::vector<MergeInput> inputs;
  for (std::size_t i = 0; i < profiles.size(); ++i)
    inputs.push_back({std::string(1, static_cast<char>('a' + i)), std::move(profiles[i])});
  const auto merged = merge_profiles(std::move(inputs));
  return merged ? "merged" : merged.error().message;
}

// The small server an hour later, on a clock that began `clock_s` after the first one's.
model::Profile later(double hours, double clock_s = 0) {
  model::Profile profile = analysis::small_server();
  const auto by = static_cast<std::uint64_t>(hours * 3600e9);
  profile.meta.start_unix_ns = 1'700'000'000'000'000'000 + by;
  const auto moved = by - static_cast<std::uint64_t>(clock_s * 1e9);
  for (std::uint64_t* time : {&profile.meta.start_ns, &profile.meta.end_ns}) *time += moved;
  for (model::Sample& sample : profile.samples) sample.time_ns += moved;
  for (model::Series& series : profile.series)
    for (model::Point& point : series.points) point.time_ns += moved;
  return profile;
}

TEST(MergeProfiles, SumsEqualThoseOfTheParts) {
  for (std::uint64_t seed = 1; seed <= 60; seed += 2) {
    SCOPED_TRACE(seed);
    model::Profile a = model::random_profile(seed), b = model::random_profile(seed + 1);
    a.meta.frequency_hz = b.meta.frequency_hz;
    const auto merged = merge_profiles({{"a", a}, {"b", b}});
    ASSERT_TRUE(merged) << merged.error().message;
    for (const Metric metric : {Metric::kCpu, Metric::kOffCpu}) {
      const std::int64_t left = total_of(a, metric), right = total_of(b, metric);
      if (left < INT64_MAX / 2 && right < INT64_MAX / 2) {
        EXPECT_EQ(total_of(merged->profile, metric), left + right) << model::to_string(metric);
      }
    }
    EXPECT_EQ(merged->profile.quality.samples, a.quality.samples + b.quality.samples);
  }
}

TEST(MergeProfiles, TheOrderDoesNotMatter) {
  const model::Profile one = merge({later(0), later(1), later(5)}).profile;
  const model::Profile other = merge({later(5), later(0), later(1)}).profile;
  EXPECT_EQ(analysis::build_call_tree(one, {}), analysis::build_call_tree(other, {}));
  EXPECT_EQ(one.meta.start_ns, other.meta.start_ns);
  EXPECT_EQ(one.meta.end_ns, other.meta.end_ns);
}

// Samples of `record -e` have their own metric until a reader chooses an event.
TEST(MergeProfiles, EventsAreAddedUp) {
  model::Profile first = later(0), second = later(1);
  first.meta.facts[model::kEventsFact] = model::events_fact({{"page-faults", 10, 10, 5, 1, "page-faults"}});
  second.meta.facts[model::kEventsFact] = model::events_fact(
      {{"block:issue", 3, 4096, 3, 0, "bytes"}, {"page-faults", 7, 7, 7, 0, "page-faults"}});
  EXPECT_THAT(model::recorded_events(merge({first, second}).profile.meta),
              ElementsAre(model::RecordedEvent{"page-faults", 17, 17, 12, 1, "page-faults"},
                          model::RecordedEvent{"block:issue", 3, 4096, 3, 0, "bytes"}));
  EXPECT_THAT(model::recorded_events(merge({later(1), first}).profile.meta), testing::SizeIs(1));
}

TEST(MergeProfiles, OneClockIsKept) {
  const Merged merged = merge({later(0), later(1)});
  EXPECT_THAT(merged.notes, IsEmpty());
  EXPECT_EQ(merged.profile.meta.start_ns, 1'000'000'000u);
  EXPECT_EQ(merged.profile.meta.end_ns, 11'000'000'000u + 3600'000'000'000u);
  EXPECT_TRUE(std::ranges::is_sorted(merged.profile.samples, {}, &model::Sample::time_ns));
}

// Two recordings an hour apart showed an idle program, because fathom also divided its use by the hour in
// between.
TEST(MergeProfiles, TheTimeBetweenRecordingsDoesNotCount) {
  const double one_s = later(0).duration_s();
  EXPECT_NEAR(model::recorded_s(merge({later(0), later(1)}).profile), 2 * one_s, 1e-6);
  EXPECT_NEAR(model::recorded_s(merge({later(0), later(1), later(3)}).profile), 3 * one_s, 1e-6);
  // A merged recording keeps its gap when it is merged again.
  EXPECT_NEAR(model::recorded_s(merge({merge({later(0), later(1)}).profile, later(3)}).profile), 3 * one_s,
              1e-6);
  EXPECT_FALSE(merge({later(0)}).profile.meta.facts.contains(model::kUnrecordedFact));
}

TEST(MergeProfiles, DifferentClocksAreAlignedByTheTimeOfDay) {
  // Recorded an hour later, on a machine that booted 2,000 s after the first.
  const Merged merged = merge({later(1, 2000), later(0)});
  EXPECT_THAT(merged.notes, ElementsAre(HasSubstr("different clocks")));
  EXPECT_EQ(merged.profile.meta.end_ns - merged.profile.meta.start_ns, 3610'000'000'000u);
  EXPECT_EQ(merged.profile.series[0].points.back().time_ns, merged.profile.meta.end_ns);
}

TEST(MergeProfiles, WithoutATimeOfDayARecordingStartsWithTheFirst) {
  model::Profile timeless = analysis::small_server();
  timeless.samples.resize(10);
  timeless.meta.start_unix_ns = 0;
  const Merged merged = merge({later(1), timeless});
  EXPECT_THAT(merged.notes, ElementsAre(HasSubstr("time of day of b is not known")));
  EXPECT_EQ(merged.profile.meta.start_ns, later(1).meta.start_ns);
  EXPECT_EQ(merged.profile.meta.end_ns, later(1).meta.end_ns);
}

TEST(MergeProfiles, SamplesAtTwoRatesBecomeTimes) {
  model::Profile fast = later(1);
  fast.meta.frequency_hz = 1000;
  const Merged merged = merge({later(0), fast});
  EXPECT_EQ(analysis::unit_of(merged.profile, Metric::kCpu), "ns");
  EXPECT_EQ(total_of(merged.profile, Metric::kCpu), 900 * 10'000'000ll + 900 * 1'000'000ll);
  EXPECT_THAT(merged.notes, ElementsAre(HasSubstr("different rates")));
}

TEST(MergeProfiles, TheUnitComesFromTheSamples) {
  model::Profile waits = later(1);
  waits.samples.clear();
  waits.meta.facts["unit"] = "ns";
  waits.meta.frequency_hz = 0;
  const Merged merged = merge({waits, later(0)});
  EXPECT_EQ(analysis::unit_of(merged.profile, Metric::kCpu), "samples");
  EXPECT_EQ(merged.profile.meta.frequency_hz, 100u);
}

TEST(MergeProfiles, InputsWithoutASumAreRejected) {
  EXPECT_THAT(refusal({later(0), later(1), later(0)}), HasSubstr("a and c are the same recording"));
  model::Profile unknown = later(1);
  unknown.meta.frequency_hz = 0;
  EXPECT_THAT(refusal({later(0), unknown}), HasSubstr("without times, and"));
  model::Profile dump = later(1), traced = later(0);
  for (model::Profile* profile : {&dump, &traced}) profile->heap.heaps.push_back({.process = {0}});
  dump.meta.facts["heap source"] = "dump";
  EXPECT_THAT(refusal({traced, dump}), HasSubstr("the heap of b is that of a dump and the one of a is not"));
}

TEST(MergeProfiles, OverlappingRecordingsAreReported) {
  model::Profile second = later(0);
  second.samples.pop_back();
  EXPECT_THAT(merge({later(0), second}).notes,
              ElementsAre(HasSubstr(
                  "a and b overlap in time and both contain process 10: what both recorded counts twice.")));
}

}  // namespace
}  // namespace fathom::open
