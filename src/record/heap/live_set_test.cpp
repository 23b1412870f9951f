#include "record/heap/live_set.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace fathom::sources::heap {
namespace {

using Taken = LiveSet::Taken;

LiveBlock block(std::uint64_t ticks, std::uint64_t size, std::uint32_t site = 1, std::uint8_t mean = 0) {
  return {ticks, size, site, mean};
}

TEST(LiveSet, FreedBlockComesOutAsItWentIn) {
  LiveSet set(1);
  LiveBlock out;
  EXPECT_FALSE(set.put(0x1000, block(5, 48, 77, 3), out));
  EXPECT_EQ(set.take(0x1000, 9, out), Taken::kTaken);
  EXPECT_EQ(out, block(5, 48, 77, 3));
  EXPECT_EQ(set.take(0x1000, 10, out), Taken::kUnknown);
  EXPECT_EQ(set.size(), 0u);
}

TEST(LiveSet, OlderFreeDoesNotKillANewerBlock) {
  LiveSet set(1);
  LiveBlock out;
  set.put(0x1000, block(100, 8), out);
  EXPECT_EQ(set.take(0x1000, 99, out), Taken::kNewer);
  EXPECT_EQ(set.size(), 1u);
  EXPECT_EQ(set.take(0x1000, 100, out), Taken::kTaken);
}

TEST(LiveSet, SecondBlockAtAnAddressReturnsTheFirst) {
  LiveSet set(1);
  LiveBlock out;
  set.put(0x1000, block(1, 8), out);
  EXPECT_TRUE(set.put(0x1000, block(2, 16), out));
  EXPECT_EQ(out, block(1, 8));
  EXPECT_EQ(set.size(), 1u);
}

TEST(LiveSet, SizesOfAnyMagnitudeAreKept) {
  LiveSet set(1);
  LiveBlock out;
  for (const std::uint64_t size : {std::uint64_t{0}, (std::uint64_t{1} << 42) - 2,
                                   (std::uint64_t{1} << 42) - 1, std::uint64_t{1} << 42, UINT64_MAX}) {
    set.put(0x1000, block(1, size), out);
    ASSERT_EQ(set.take(0x1000, 2, out), Taken::kTaken);
    EXPECT_EQ(out.size, size);
  }
}

TEST(LiveSet, BehavesLikeAMapInAnyOrder) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    LiveSet set(random());
    std::map<std::uint64_t, LiveBlock> model;
    const std::uint64_t range = 1 + random() % 4000;
    for (std::uint64_t i = 1; i < 20'000; ++i) {
      const std::uint64_t address = 16 * (1 + random() % range);
      LiveBlock out;
      const auto known = model.find(address);
      if (random() % 2 == 0) {
        const LiveBlock added = block(i, random() % 1000, static_cast<std::uint32_t>(random() % 1000));
        ASSERT_EQ(set.put(address, added, out), known != model.end());
        if (known != model.end()) {
          ASSERT_EQ(out, known->second);
        }
        model[address] = added;
      } else {
        ASSERT_EQ(set.take(address, i, out), known == model.end() ? Taken::kUnknown : Taken::kTaken);
        if (known != model.end()) {
          ASSERT_EQ(out, known->second);
          model.erase(known);
        }
      }
    }
    ASSERT_EQ(set.size(), model.size());
    std::map<std::uint64_t, LiveBlock> all;
    set.for_each([&](std::uint64_t address, const LiveBlock& live) { all[address] = live; });
    EXPECT_EQ(all, model);
  }
}

TEST(LiveSet, MillionBlocksTakeLessThan48MB) {
  LiveSet set(3);
  LiveBlock out;
  for (std::uint64_t i = 1; i <= 1'000'000; ++i) set.put(i * 16, block(i, 32), out);
  EXPECT_EQ(set.size(), 1'000'000u);
  EXPECT_LT(set.memory_bytes(), 48'000'000u);
}

// Allocators hand out blocks at equal distances. Each recording has a seed of its own, and one that makes
// searches long would make the collector slow for all of it. With one product instead of two, 50 of these are
// such seeds.
TEST(LiveSet, SearchesAreShortForAnySeed) {
  constexpr std::uint64_t kBlocks = 20'000;
  LiveBlock out;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    LiveSet set(seed * 0x9e3779b97f4a7c15ull);
    std::uint64_t steps = 0;
    for (std::uint64_t i = 0; i < kBlocks; ++i) {
      const std::uint64_t address = 0x7f12'3456'0000 + i * 32;
      set.put(address, block(i, 24), out);
      steps += set.steps_to(address);
    }
    EXPECT_LT(steps, kBlocks * 2) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fathom::sources::heap
