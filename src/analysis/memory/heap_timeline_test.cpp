#include "analysis/heap/heap_timeline.h"
#include "analysis/core/heap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "analysis/memory/hand_made_memory.h"
#include "model/random_profile.h"
#include "present/sentences/timeline_sentences.h"

namespace fathom::analysis {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kSecond = 1'000'000'000;

HeapTimeline timeline_of(const model::Profile& profile, const TimelineOptions& options = {}) {
  return make_heap_timeline(profile, options).value();
}

std::vector<std::string> names(const HeapTimeline& timeline) {
  std::vector<std::string> texts;
  for (const TimelineGroup& group : timeline.groups) texts.push_back(group.name);
  return texts;
}
using Texts = std::vector<std::string>;

std::vector<double> times(const HeapTimeline& timeline) {
  std::vector<double> all;
  for (const TimelinePoint& point : timeline.points) all.push_back(point.time_s);
  return all;
}

void expect_adds_up(const HeapTimeline& timeline) {
  double last = -1e300;
  for (const TimelinePoint& point : timeline.points) {
    ASSERT_EQ(point.groups.size(), timeline.groups.size());
    for (const double bytes : point.groups) {
      EXPECT_TRUE(std::isfinite(bytes));
      EXPECT_GE(bytes, 0);
    }
    EXPECT_NEAR(std::accumulate(point.groups.begin(), point.groups.end(), 0.0), point.total,
                1e-9 * point.total);
    EXPECT_LE(point.total, timeline.peak.bytes * (1 + 1e-12));
    EXPECT_GE(point.time_s, last);
    EXPECT_GE(point.time_s, timeline.from_s);
    EXPECT_LE(point.time_s, timeline.to_s);
    last = point.time_s;
  }
}

TEST(HeapTimeline, OfAServerHasThePeakToTheEventAndWhatItWasMadeOf) {
  const model::Profile profile = small_heap().profile;
  const HeapTimeline timeline = timeline_of(profile);
  expect_adds_up(timeline);
  EXPECT_EQ(timeline.peak.bytes, 7'001'960);
  EXPECT_DOUBLE_EQ(timeline.peak.time_s, 1.5);
  EXPECT_EQ(timeline.peak.over, 0);
  EXPECT_TRUE(timeline.peak.composition_exact);
  EXPECT_FALSE(timeline.peak.to_slice_end);
  EXPECT_EQ(timeline.peak.error, 0);
  EXPECT_EQ(times(timeline), (std::vector<double>{0, 1, 1.5, 2, 3}));
  EXPECT_EQ(names(timeline), (Texts{"server::Cache::put(int)", "server::load(std::string const&)",
                                    "server::serve", "server::request::parse"}));
  EXPECT_EQ(timeline.groups[0].at_peak, 1'000'000);
  EXPECT_EQ(timeline.groups[0].at_end, 1'000'000);
  EXPECT_EQ(timeline.groups[1].at_peak, 6'000'000);
  EXPECT_EQ(timeline.groups[1].at_end, 0);
  EXPECT_THAT(present::sentences_of(timeline)[0],
              HasSubstr("1.50 s after the start: 6.7 MiB, exact to the event."));
}

// The first second moves 11 MB, the second 16 MB and the third 2 MB.
TEST(HeapTimeline, AnAxisOfBytesDrawsBurstsOut) {
  const model::Profile profile = small_heap().profile;
  EXPECT_DOUBLE_EQ(timeline_of(profile).part_at(1.5), 0.5);
  const HeapTimeline timeline = timeline_of(profile, {.moved = true});
  expect_adds_up(timeline);
  const double all = 10'999'640 + 16'000'640 + 2'202'280;
  EXPECT_DOUBLE_EQ(timeline.moved.back().bytes, all);
  EXPECT_DOUBLE_EQ(timeline.part_at(0), 0);
  EXPECT_DOUBLE_EQ(timeline.part_at(1), 10'999'640 / all);
  EXPECT_DOUBLE_EQ(timeline.part_at(1.5), (10'999'640 + 8'000'320) / all);
  EXPECT_DOUBLE_EQ(timeline.part_at(3), 1);
  // Of a window its own bytes alone.
  const HeapTimeline part =
      timeline_of(profile, {.selection = {.from_ns = kSecond, .to_ns = 2 * kSecond}, .moved = true});
  EXPECT_DOUBLE_EQ(part.moved.back().bytes, 16'000'640);
}

TEST(HeapTimeline, TakesTogetherWhatIsTooLittleForANameOfItsOwn) {
  const HeapTimeline timeline = timeline_of(small_heap().profile, {.groups = 1});
  expect_adds_up(timeline);
  EXPECT_EQ(names(timeline), (Texts{"server::Cache::put(int)", "the other 3 functions"}));
  EXPECT_EQ(timeline.groups[1].keys, 3u);
  EXPECT_EQ(timeline.groups[1].at_peak, 6'001'960);
  // One that would be left over alone keeps its name.
  const HeapTimeline by_module =
      timeline_of(small_heap().profile,
                  {.selection = {.fold_containers = false}, .by = TimelineBy::kModule, .groups = 1});
  EXPECT_EQ(names(by_module), (Texts{"server", "libc.so.6"}));
}

TEST(HeapTimeline, IsStackedByModuleThreadOrAllocator) {
  const model::Profile profile = small_heap().profile;
  EXPECT_EQ(names(timeline_of(profile, {.selection = {.fold_containers = false}, .by = TimelineBy::kModule})),
            (Texts{"server", "libc.so.6"}));
  EXPECT_EQ(names(timeline_of(profile, {.by = TimelineBy::kThread})), (Texts{"worker", "loader"}));
  EXPECT_EQ(names(timeline_of(profile, {.by = TimelineBy::kAllocator})),
            (Texts{"glibc 2.36", "jemalloc 5.3.0 (_rjem_)"}));
}

TEST(HeapTimeline, RisesInsideASliceToWhatWasLiveThereWithUnknownOwners) {
  model::Profile profile = small_heap().profile;
  profile.heap.summaries.clear();  // a killed recorder
  model::HeapSlice& slice = profile.heap.slices[1];
  slice.peak_ns = slice.start_ns + kSecond / 4;
  slice.peak_bytes = 7'000'000;
  const HeapTimeline timeline = timeline_of(profile);
  expect_adds_up(timeline);
  EXPECT_EQ(timeline.peak.bytes, 7'000'000);
  EXPECT_DOUBLE_EQ(timeline.peak.time_s, 1.25);
  EXPECT_EQ(timeline.peak.over, 0);
  EXPECT_FALSE(timeline.peak.composition_exact);
  const auto passing = std::find_if(timeline.groups.begin(), timeline.groups.end(),
                                    [](const auto& group) { return group.kind == TimelineKind::kPassing; });
  ASSERT_NE(passing, timeline.groups.end());
  // A quarter of the way from 1,001,640 to 1,002,280 is known.
  EXPECT_EQ(passing->at_peak, 7'000'000 - (1'001'640 + 160));
}

TEST(HeapTimeline, OfAWindowBeginsWithWhatWasThereBefore) {
  const model::Profile profile = small_heap().profile;
  const HeapTimeline timeline =
      timeline_of(profile, {.selection = {.from_ns = 2 * kSecond, .to_ns = 3 * kSecond}});
  expect_adds_up(timeline);
  EXPECT_EQ(timeline.from_s, 2);
  EXPECT_EQ(timeline.to_s, 3);
  EXPECT_EQ(timeline.points.front().total, 1'002'280);
  EXPECT_EQ(timeline.points.back().total, 1'002'560);
}

TEST(HeapTimeline, OfOneThreadHoldsToTheEndsOfSlicesAndToThePeakOfAll) {
  const HeapTimeline timeline = timeline_of(small_heap().profile, {.selection = {.thread = "loader"}});
  expect_adds_up(timeline);
  EXPECT_EQ(timeline.peak.bytes, 6'000'000);
  EXPECT_TRUE(timeline.peak.to_slice_end);
  EXPECT_FALSE(timeline.is_bound());
  EXPECT_TRUE(timeline_of(small_heap().profile).is_bound());
  EXPECT_THAT(
      present::sentences_of(timeline)[0],
      HasSubstr(", at the end of a time slice: moments in between are known only for all threads together."));
  EXPECT_TRUE(timeline_of(small_heap().profile, {.selection = {.pid = 11}}).points.empty());
}

// A second heap of the same process, as the recorder keeps it for mmap and brk.
model::Profile with_mapped_memory() {
  HandMadeHeap hand = small_heap();
  const auto allocator = hand.allocator(model::kMappedByProgram, {});
  auto& heap = hand.profile.heap;
  model::Heap mapped = heap.heaps[0];
  mapped.peak_bytes = 4'000'000;
  mapped.peak_ns = hand.profile.meta.start_ns + 1'900'000'000;
  heap.heaps.push_back(mapped);
  heap.sites.push_back({{1}, {1}, allocator, model::kNoThread, 1});
  const model::HeapSiteId site{static_cast<std::uint32_t>(heap.sites.size() - 1)};
  for (std::uint32_t second = 0; second < 3; ++second) {
    model::HeapSlice slice = heap.slices[second];
    slice.heap = {1};
    slice.peak_bytes = second == 1 ? 4'000'000 : 1'000'000;
    slice.peak_ns = second == 1 ? mapped.peak_ns : slice.end_ns;
    heap.slices.push_back(slice);
    if (second == 2) continue;
    model::HeapRow row;
    row.slice = {3 + second};
    row.site = site;
    row.allocated = second == 0 ? model::HeapSum{1, 1'000'000} : model::HeapSum{1, 3'000'000};
    row.freed = second == 0 ? model::HeapSum{} : model::HeapSum{1, 3'000'000};
    heap.rows.push_back(row);
  }
  heap.summaries.push_back({site, {2, 4'000'000}, {}, 0});
  return hand.profile;
}

TEST(HeapTimeline, MappedMemoryIsABandOfItsOwnAndThePeakSaysHowFarItMayBeOff) {
  const model::Profile profile = with_mapped_memory();
  ASSERT_TRUE(model::check(profile));
  const HeapTimeline timeline = timeline_of(profile);
  expect_adds_up(timeline);
  EXPECT_EQ(timeline.groups.back().kind, TimelineKind::kMapped);
  EXPECT_EQ(timeline.groups.back().name, model::kMappedByProgram);
  // The heap has its peak at 1.5 s, mapped memory at 1.9 s: on a line between 1 MB at 1 s and 4 MB at 1.9 s
  // it has 2,666,667 then. Together they were never above the sum of both peaks.
  EXPECT_NEAR(timeline.peak.bytes, 7'001'960 + 2'666'667, 1);
  EXPECT_NEAR(timeline.peak.over, 4'000'000 - 2'666'667, 1);
  EXPECT_THAT(present::sentences_of(timeline)[0], HasSubstr("it was at most 1.3 MiB more"));
}

TEST(HeapTimeline, HasTheMemoryOfItsProcessOnTheSameAxis) {
  HandMadeHeap hand = small_heap();
  const auto series = [&](std::string_view name, std::int32_t pid, std::vector<double> values) {
    model::Series row;
    row.name = hand.builder.string(name);
    row.unit = hand.builder.string("bytes");
    row.pid = pid;
    for (std::size_t i = 0; i < values.size(); ++i)
      row.points.push_back({hand.profile.meta.start_ns + i * kSecond, values[i]});
    hand.profile.series.push_back(std::move(row));
  };
  series("memory.rss_anon", 10, {1e6, 8e6, 9e6});
  series("memory.rss_file", 10, {2e6, 2e6, 2e6});
  series("memory.swap", 10, {0, 0, 0});
  series("memory.rss_anon", 99, {5e9});  // of another process
  const HeapTimeline timeline = timeline_of(hand.profile);
  ASSERT_EQ(timeline.lines.size(), 2u);  // nothing was ever swapped out
  EXPECT_EQ(timeline.lines[0].series, "memory.rss_anon");
  EXPECT_EQ(timeline.line("memory.rss_anon")->most(), 9e6);
  EXPECT_EQ(timeline.line("memory.rss_anon")->values[1].time_s, 1);
  EXPECT_EQ(timeline.line("memory.swap"), nullptr);
}

TEST(HeapTimeline, OfSamplesSaysHowSureThePeakIs) {
  const HeapTimeline timeline = timeline_of(small_heap(model::HeapMode::kSampled).profile);
  EXPECT_TRUE(timeline.sampled);
  EXPECT_NEAR(timeline.peak.error, (analysis::HeapAmount{7'001'960.0, 7'001'960.0 * (512u << 10)}.error()),
              1);
  EXPECT_THAT(present::sentences_of(timeline)[0], HasSubstr("± is the 95 % interval"));
}

TEST(HeapTimeline, ThinnedOutKeepsTheLargestMomentOfEachColumn) {
  HandMadeHeap hand;
  hand.process(10, "app");
  const auto app = hand.module("app");
  const auto site = hand.site(hand.stack({hand.frame(app, {"f"})}));
  double live = 0;
  for (int i = 0; i < 1000; ++i) {
    hand.slice();
    const double wanted = i % 7 == 0 ? 5000.0 + i : 100;
    hand.row(site, {1, std::max(0.0, wanted - live)}, {1, std::max(0.0, live - wanted)});
    live = wanted;
  }
  hand.profile.meta.end_ns = hand.profile.meta.start_ns + 1000 * kSecond;
  const HeapTimeline all = timeline_of(hand.profile), thin = timeline_of(hand.profile, {.columns = 49});
  expect_adds_up(thin);
  EXPECT_LE(thin.points.size(), 99u);
  EXPECT_GT(all.points.size(), 1000u);
  const auto most = [](const HeapTimeline& timeline, int column) {
    const double width = (timeline.to_s - timeline.from_s) / 49;
    double largest = 0;
    for (const auto& point : timeline.points)
      if (static_cast<int>((point.time_s - timeline.from_s) / width) == column)
        largest = std::max(largest, point.total);
    return largest;
  };
  for (int column = 0; column < 49; ++column) {
    EXPECT_EQ(most(thin, column), most(all, column)) << column;
  }
}

TEST(HeapTimeline, OfAnyProfileAddsUpAtEveryPoint) {
  std::size_t seen = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const model::Profile profile = model::random_profile(seed);
    if (profile.heap.empty()) {
      EXPECT_FALSE(make_heap_timeline(profile, {}));
      continue;
    }
    for (const auto by :
         {TimelineBy::kFunction, TimelineBy::kModule, TimelineBy::kThread, TimelineBy::kAllocator}) {
      const HeapTimeline timeline = timeline_of(profile, {.by = by, .groups = 3});
      expect_adds_up(timeline);
      if (!timeline.points.empty()) ++seen;
      expect_adds_up(timeline_of(profile, {.by = by, .groups = 3, .columns = 2}));
    }
  }
  EXPECT_GT(seen, 100u);
}

TEST(HeapTimeline, KnowsItsGroupsByName) {
  for (const char* name : {"function", "module", "thread", "allocator"})
    EXPECT_EQ(to_string(timeline_by_from(name).value()), name);
  EXPECT_FALSE(timeline_by_from("size"));
}

TEST(HeapTimeline, StacksOfThreadsAreALineOfTheirOwn) {
  const HandMadeMemory hand = memory_of_small_heap();
  double bytes = 0;
  for (const model::MemoryRange& range : hand.profile.memory_ranges)
    if (range.time_ns == hand.profile.memory_ranges.back().time_ns &&
        (range.kind == model::MemoryKind::kMainStack || range.kind == model::MemoryKind::kThreadStack))
      bytes += static_cast<double>(range.rss_bytes);
  ASSERT_GT(bytes, 0);
  const std::optional<HeapTimeline> timeline = make_heap_timeline(hand.profile, {});
  ASSERT_TRUE(timeline);
  ASSERT_NE(timeline->line("memory.stacks"), nullptr);
  EXPECT_EQ(timeline->line("memory.stacks")->values.back().bytes, bytes);
}

}  // namespace
}  // namespace fathom::analysis
