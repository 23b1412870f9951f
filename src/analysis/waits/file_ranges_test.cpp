#include "analysis/waits/file_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace fathom::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kPage = 4096, kGiB = std::uint64_t{1} << 30;

TEST(FileOffsets, PagesSideBySideAreOneRange) {
  FileOffsets offsets;
  for (std::uint64_t page = 10; page < 14; ++page) offsets.add(page * kPage, 1);
  offsets.add(100 * kPage, 9);
  EXPECT_THAT(offsets.ranges(),
              ElementsAre(FileRange{100 * kPage, 101 * kPage, 9}, FileRange{10 * kPage, 14 * kPage, 4}));
  EXPECT_THAT(FileOffsets().ranges(), IsEmpty());
}

TEST(FileOffsets, AHotSpotStandsOutFromWhatSurroundsIt) {
  FileOffsets offsets;
  for (std::uint64_t page = 0; page < 9; ++page) offsets.add(page * kPage, page == 4 ? 500 : 10);
  EXPECT_THAT(offsets.ranges(), ElementsAre(FileRange{4 * kPage, 5 * kPage, 500}, FileRange{0, 4 * kPage, 40},
                                            FileRange{5 * kPage, 9 * kPage, 40}));
}

TEST(FileOffsets, AWholeFileIsOneRangeAndNothingIsLost) {
  FileOffsets offsets;
  for (std::uint64_t i = 0; i < 100'000; ++i) offsets.add(i * 7919 % (4 * kGiB / kPage) * kPage, 1);
  ASSERT_EQ(offsets.ranges().size(), 1u);
  EXPECT_EQ(offsets.ranges()[0].from, 0u);
  EXPECT_EQ(offsets.ranges()[0].faults, 100'000);
  EXPECT_LE(offsets.ranges()[0].to, 4 * kGiB);
}

TEST(FileOffsets, OffsetsOfADamagedRecordingHaveAnEnd) {
  FileOffsets offsets;
  for (std::uint64_t i = 0; i < 200; ++i) offsets.add(i << 56 | i, 1);
  offsets.add(std::numeric_limits<std::uint64_t>::max(), 3);
  double sum = 0;
  for (const FileRange& range : offsets.ranges()) {
    EXPECT_LT(range.from, range.to);
    sum += range.faults;
  }
  EXPECT_EQ(sum, 203);
}

}  // namespace
}  // namespace fathom::analysis
