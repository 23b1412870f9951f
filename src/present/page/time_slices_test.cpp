#include "present/page/time_slices.h"

#include <gtest/gtest.h>

#include <string>

namespace fathom::page {
namespace {

constexpr std::uint64_t kStart = 5'000'000'000;

TEST(TimeSlices, AreRoundAndAsManyAsAllowed) {
  for (const auto& [length_ns, width_ms, count] :
       {std::tuple(1ull, 1ull, 1u), std::tuple(2'000'000'000ull, 1ull, 2000u),
        std::tuple(2'000'000'001ull, 2ull, 1001u), std::tuple(20'030'000'000ull, 20ull, 1002u),
        std::tuple(3'600'000'000'000ull, 2000ull, 1800u)}) {
    const TimeSlices slices(kStart, kStart + length_ns, 2000);
    EXPECT_EQ(slices.width_ms(), width_ms) << length_ns;
    EXPECT_EQ(slices.count(), count) << length_ns;
  }
}

TEST(TimeSlices, ARecordingWithoutTimesIsOne) {
  const TimeSlices slices(0, 0, 2000);
  EXPECT_EQ(slices.count(), 1u);
  EXPECT_EQ(slices.of(0), 0u);
  EXPECT_EQ(slices.of(UINT64_MAX), 0u);
}

TEST(TimeSlices, EachTimeIsInTheSliceBetweenWhoseEdgesItLies) {
  const TimeSlices slices(kStart, kStart + 1'990'000'000, 2000);
  for (std::uint32_t slice = 0; slice < slices.count(); ++slice) {
    const std::uint64_t edge = kStart + slices.edge_ns(slice);
    EXPECT_EQ(slices.of(edge), slice);
    if (slice > 0) {
      EXPECT_EQ(slices.of(edge - 1), slice - 1);
    }
  }
  EXPECT_EQ(slices.of(kStart - 7), 0u);
  EXPECT_EQ(slices.of(kStart + 900'000'000'000), slices.count() - 1);
}

TEST(TimeSlices, AnEdgeIsTheTimeThatTheCommandLineReadsFromItsText) {
  const TimeSlices slices(kStart, kStart + 1'990'000'000, 2000);
  for (std::uint32_t slice = 0; slice < slices.count(); ++slice) {
    const std::string text =
        std::to_string(slice / 1000) + "." + std::to_string(1000 + slice % 1000).substr(1);
    EXPECT_EQ(slices.edge_ns(slice), static_cast<std::uint64_t>(std::stod(text) * 1e9)) << text;
  }
}

TEST(TimeSlices, WiderOnesAreRoundToo) {
  std::uint64_t width = 1;
  std::string all;
  for (int i = 0; i < 8; ++i) all += std::to_string(width = wider(width)) + " ";
  EXPECT_EQ(all, "2 5 10 20 50 100 200 500 ");
}

}  // namespace
}  // namespace fathom::page
