#include "record/heap/mapping_collector.h"

#include <gtest/gtest.h>

namespace fathom::sources::heap {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000, kPage = 4096;

MemoryCall mapped(std::uint64_t time_ns, std::uint64_t stack, std::uint64_t at, std::uint64_t pages) {
  return {time_ns, 1, 7, stack, 9, true, 0, pages * kPage, 0, at};
}
MemoryCall unmapped(std::uint64_t time_ns, std::uint64_t at, std::uint64_t pages) {
  return {time_ns, 1, 7, 99, 11, false, at, pages * kPage, 0, 0};
}

TEST(MappingCollector, ASliceHasWhatWasMappedAndReturnedInIt) {
  MappingCollector collector(10 * kSecond);
  collector.take(mapped(10 * kSecond + 1, 5, 0x10000, 4));
  collector.take(mapped(10 * kSecond + 2, 6, 0x50000, 2));
  collector.take(unmapped(10 * kSecond + 3, 0x10000, 1));
  EXPECT_FALSE(collector.slice(10 * kSecond + 4));
  const auto slice = collector.slice(11 * kSecond);
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->start_ns, 10 * kSecond);
  EXPECT_EQ(slice->end_ns, 11 * kSecond);
  EXPECT_EQ(slice->peak_bytes, 6 * kPage);
  EXPECT_EQ(slice->peak_ns, 10 * kSecond + 2);
  EXPECT_EQ(slice->live, (Sum{2, 5 * kPage}));
  ASSERT_EQ(slice->rows.size(), 2u);
  const SiteKey& first = slice->new_sites[slice->rows[0].site - slice->first_new_site];
  EXPECT_EQ(first, (SiteKey{5, 7, 0}));
  EXPECT_EQ(slice->rows[0].sums.allocated, (Sum{1, 4 * kPage}));
  EXPECT_EQ(slice->rows[0].sums.freed, (Sum{0, kPage}));  // some of it is left
  EXPECT_EQ(slice->rows[1].sums.allocated, (Sum{1, 2 * kPage}));
}

TEST(MappingCollector, WhatIsGivenBackLaterIsInThatSlice) {
  MappingCollector collector(0);
  collector.take(mapped(1, 5, 0x10000, 4));
  ASSERT_TRUE(collector.slice(kSecond));
  collector.take(unmapped(kSecond + 5, 0x10000, 4));
  const auto slice = collector.slice(kSecond + 6, true);
  ASSERT_TRUE(slice);
  EXPECT_TRUE(slice->new_sites.empty());
  ASSERT_EQ(slice->rows.size(), 1u);
  EXPECT_EQ(slice->rows[0].sums.allocated, Sum{});
  EXPECT_EQ(slice->rows[0].sums.freed, (Sum{1, 4 * kPage}));
  EXPECT_EQ(collector.live(), Sum{});
}

// A program that maps much at once and then nothing does not grow all the time.
TEST(MappingCollector, SilenceIsNoPartOfTheSliceWithTheCalls) {
  constexpr std::uint64_t kLength = kSecond / 20, kStart = 10 * kSecond;
  MappingCollector collector(kStart, kLength);
  EXPECT_FALSE(collector.settled_slice(kStart + kSecond)) << "nothing was called";
  collector.take(mapped(kStart + 10, 5, 0x10000, 4));
  EXPECT_FALSE(collector.settled_slice(kStart + kLength)) << "it is not long enough yet";
  const auto calls = collector.settled_slice(kStart + kSecond);
  ASSERT_TRUE(calls);
  EXPECT_EQ(calls->end_ns, kStart + kLength);
  EXPECT_EQ(calls->live, (Sum{1, 4 * kPage}));
  EXPECT_FALSE(collector.settled_slice(kStart + 2 * kSecond)) << "nothing since";
  const auto silence = collector.slice(kStart + kSecond);
  ASSERT_TRUE(silence);
  EXPECT_EQ(silence->start_ns, kStart + kLength);
  EXPECT_TRUE(silence->rows.empty());
  collector.take(mapped(kStart + kSecond + 9 * kLength, 5, 0x50000, 4));
  EXPECT_EQ(collector.settled_slice(kStart + 2 * kSecond)->end_ns, kStart + kSecond + 9 * kLength + 1);
}

TEST(MappingCollector, WhatStaysMappedIsGivenBackByWhoMadeTheCallAndStaysLive) {
  MappingCollector collector(0);
  collector.take(mapped(1, 5, 0x10000, 4));
  collector.take({2, 1, 7, 6, 28, false, 0x10000, kPage + 1, 4, 0});
  collector.take({3, 1, 7, 6, 28, false, 0x10000, kPage, 8, 0});
  collector.take({4, 1, 8, 6, 28, false, 0x90000, 3 * kPage, 4, 0}, 2);
  const auto slice = collector.slice(5, true);
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->live, (Sum{1, 4 * kPage}));
  EXPECT_EQ(slice->rows.size(), 1u);
  std::vector<std::pair<SiteKey, Sum>> given_back;
  for (const SiteSummary& site : collector.summary().sites)
    if (site.given_back.blocks != 0) given_back.emplace_back(slice->new_sites[site.site], site.given_back);
  EXPECT_EQ(given_back,
            (std::vector<std::pair<SiteKey, Sum>>{{{6, 7, 0}, {2, 3 * kPage}}, {{6, 8, 2}, {1, 3 * kPage}}}));
}

TEST(MappingCollector, TheSummaryKnowsThePeakAndItsSites) {
  MappingCollector collector(0);
  collector.take(mapped(1, 5, 0x10000, 4));
  collector.take(mapped(2, 6, 0x90000, 8));
  collector.take(unmapped(3, 0x10000, 4));
  collector.take(mapped(4, 5, 0x10000, 1));
  (void)collector.slice(5, true);
  const Summary summary = collector.summary();
  EXPECT_EQ(summary.peak_ns, 2u);
  EXPECT_EQ(summary.peak, (Sum{2, 12 * kPage}));
  Sum peaks;
  for (const SiteSummary& site : summary.sites) peaks.add(site.peak);
  EXPECT_EQ(peaks, summary.peak);
}

}  // namespace
}  // namespace fathom::sources::heap
