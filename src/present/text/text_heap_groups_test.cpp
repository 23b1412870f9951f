#include "present/text/text_heap_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/heap/hand_made_heap.h"
#include "base/golden.h"
#include "model/random_profile.h"

namespace fathom::present {
namespace {

using analysis::HeapGrouping;
using model::HeapMode;
using model::Metric;

std::string text(const model::Profile& profile, Metric metric, HeapGrouping by, std::size_t width = 100) {
  return heap_groups_text(analysis::group_heap(profile, {.selection = {.metric = metric}, .by = by}),
                          {.width = width, .top = 4});
}

TEST(TextHeapGroups, OfEachGrouping) {
  const model::Profile profile = analysis::small_heap().profile;
  expect_golden("heap_groups.txt", text(profile, Metric::kHeapAllocated, HeapGrouping::kFunction) +
                                       text(profile, Metric::kHeapLive, HeapGrouping::kStack) +
                                       text(profile, Metric::kHeapTemporary, HeapGrouping::kSize) +
                                       text(profile, Metric::kHeapPeak, HeapGrouping::kThread) +
                                       text(profile, Metric::kHeapAllocations, HeapGrouping::kFunction, 0));
}

TEST(TextHeapGroups, OfSamplesMarkWhatIsNoise) {
  expect_golden("heap_groups_sampled.txt", text(analysis::small_heap(HeapMode::kSampled).profile,
                                                Metric::kHeapGrowth, HeapGrouping::kFunction));
}

// "--by module" of a recording with a heap took the heap, and did not say that CPU time could be had.
TEST(TextHeapGroups, SayOfWhichMetricTheyAreAndThatThereIsAnother) {
  const model::Profile profile = analysis::small_heap().profile;
  const auto groups = analysis::group_heap(
      profile, {.selection = {.metric = Metric::kHeapLive}, .by = HeapGrouping::kModule});
  EXPECT_THAT(heap_groups_text(groups, {}), testing::StartsWith("\nLive heap (heap-live) by module "));
  EXPECT_THAT(heap_groups_text(groups, {}), testing::Not(testing::HasSubstr("--metric cpu")));
  EXPECT_THAT(
      heap_groups_text(groups, {.width = 0, .heap_by_itself = true}),
      testing::HasSubstr(
          "This groups the heap, because it was recorded and no metric was given. --metric cpu groups CPU time; other heap metrics are heap-allocated, heap-temporary ..."));
}

TEST(TextHeapGroups, OfAnyProfileHoldNoControlCharacters) {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    if (profile.heap.empty()) continue;
    ++seen;
    for (const HeapGrouping by : {HeapGrouping::kStack, HeapGrouping::kCrate, HeapGrouping::kAllocator})
      for (const char c : text(profile, Metric::kHeapGrowth, by, seed % 2 == 0 ? 0 : 100))
        ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << "seed " << seed;
  }
  EXPECT_GT(seen, 10);
}

}  // namespace
}  // namespace fathom::present
