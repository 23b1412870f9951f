#include "render/text_heap_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/golden.h"
#include "profile/random_profile.h"
#include "report/hand_made_heap.h"

namespace fathom::render {
namespace {

using profile::HeapMode;
using profile::Metric;
using report::HeapGrouping;

std::string text(const profile::Profile& profile, Metric metric, HeapGrouping by, std::size_t width = 100) {
  return heap_groups_text(report::group_heap(profile, {.selection = {.metric = metric}, .by = by}),
                          {.width = width, .top = 4});
}

TEST(TextHeapGroups, OfEachGrouping) {
  const profile::Profile profile = report::small_heap().profile;
  expect_golden("heap_groups.txt", text(profile, Metric::kHeapAllocated, HeapGrouping::kFunction) +
                                       text(profile, Metric::kHeapLive, HeapGrouping::kStack) +
                                       text(profile, Metric::kHeapTemporary, HeapGrouping::kSize) +
                                       text(profile, Metric::kHeapPeak, HeapGrouping::kThread) +
                                       text(profile, Metric::kHeapAllocations, HeapGrouping::kFunction, 0));
}

TEST(TextHeapGroups, OfSamplesMarkWhatIsNoise) {
  expect_golden("heap_groups_sampled.txt", text(report::small_heap(HeapMode::kSampled).profile,
                                                Metric::kHeapGrowth, HeapGrouping::kFunction));
}

TEST(TextHeapGroups, OfAnyProfileHoldNoControlCharacters) {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const profile::Profile profile = profile::random_profile(seed);
    if (profile.heap.empty()) continue;
    ++seen;
    for (const HeapGrouping by : {HeapGrouping::kStack, HeapGrouping::kCrate, HeapGrouping::kAllocator})
      for (const char c : text(profile, Metric::kHeapGrowth, by, seed % 2 == 0 ? 0 : 100))
        ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << "seed " << seed;
  }
  EXPECT_GT(seen, 10);
}

}  // namespace
}  // namespace fathom::render
