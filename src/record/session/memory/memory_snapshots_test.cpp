#include "record/session/memory/memory_snapshots.h"

#include <gtest/gtest.h>

namespace fathom::session {
namespace {

constexpr std::uint64_t kMiB = 1 << 20, kGiB = 1 << 30;

TEST(MemorySnapshots, GrowthIsTwoPerCentOrAQuarterOfAGigabyte) {
  EXPECT_FALSE(has_grown(kGiB, kGiB + 20 * kMiB));
  EXPECT_TRUE(has_grown(kGiB, kGiB + 21 * kMiB));
  EXPECT_FALSE(has_grown(100 * kGiB, 100 * kGiB + 255 * kMiB));
  EXPECT_TRUE(has_grown(100 * kGiB, 100 * kGiB + 256 * kMiB));
}

TEST(MemorySnapshots, OfASmallProcessAFewPagesAreNoGrowth) {
  EXPECT_FALSE(has_grown(10 * kMiB, 13 * kMiB));
  EXPECT_TRUE(has_grown(10 * kMiB, 14 * kMiB));
}

TEST(MemorySnapshots, WhatShrinksHasNotGrown) {
  EXPECT_FALSE(has_grown(kGiB, 0));
  EXPECT_FALSE(has_grown(UINT64_MAX, UINT64_MAX));
}

}  // namespace
}  // namespace fathom::session
