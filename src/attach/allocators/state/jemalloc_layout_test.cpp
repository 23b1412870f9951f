#include "attach/allocators/state/jemalloc_layout.h"

#include <gtest/gtest.h>

namespace fathom::allocators::jemalloc {
namespace {

constexpr std::uint64_t kAddress = 0x7f00'0000'0000;

// A record as jemalloc 5.3 writes it.
struct Record53 {
  std::uint64_t arena = 0, slab = 0, state = 0, size_class = 0, free = 0;
  std::uint64_t address = kAddress, size = 4096;
  ExtentWords words() const {
    return {arena | slab << 12 | std::uint64_t{1} << 13 | state << 17 | size_class << 20 | free << 28,
            address, size};
  }
};
const Layout& version_5_3() {
  return layouts()[0];
}

TEST(JemallocLayout, SizeClassesEqualThoseOfItsTable) {
  const std::uint64_t small[kSmallClasses] = {8,    16,   32,   48,   64,   80,   96,    112,   128,
                                              160,  192,  224,  256,  320,  384,  448,   512,   640,
                                              768,  896,  1024, 1280, 1536, 1792, 2048,  2560,  3072,
                                              3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336};
  for (std::uint32_t i = 0; i < kSmallClasses; ++i) EXPECT_EQ(class_size(i), small[i]) << i;
  EXPECT_EQ(class_size(kClasses - 1), std::uint64_t{7} << 60);
}

TEST(JemallocLayout, ASlabHoldsItsBlocksExceptTheFreeOnes) {
  // 640 bytes: five pages hold 32.
  const auto extent = decode(
      version_5_3(), Record53{.arena = 3, .slab = 1, .size_class = 17, .free = 12, .size = 5 * 4096}.words());
  ASSERT_TRUE(extent);
  EXPECT_EQ(extent->arena, 3u);
  EXPECT_TRUE(extent->slab);
  EXPECT_EQ(extent->blocks, 32u);
  EXPECT_EQ(extent->usable, 20u * 640);
}

TEST(JemallocLayout, ALargeBlockMayHaveOneExtraPage) {
  for (const std::uint64_t size : {16384, 16384 + 4096}) {
    const auto extent =
        decode(version_5_3(), Record53{.size_class = 36, .address = kAddress + 64, .size = size}.words());
    ASSERT_TRUE(extent) << size;
    EXPECT_EQ(extent->start, kAddress);
    EXPECT_EQ(extent->usable, 16384u);
  }
  EXPECT_FALSE(decode(version_5_3(), Record53{.size_class = 36, .size = 16384 + 8192}.words()));
}

TEST(JemallocLayout, TheSerialNumberBelowThePageBitsIsNotPartOfTheSize) {
  const auto extent =
      decode(version_5_3(), Record53{.state = 1, .size_class = 232, .size = 8192 + 77}.words());
  ASSERT_TRUE(extent);
  EXPECT_EQ(extent->size, 8192u);
  EXPECT_EQ(extent->state, ExtentState::kDirty);
}

TEST(JemallocLayout, ABlockOfTheHugePageAllocatorIsRecognized) {
  ExtentWords words = Record53{.size_class = 36, .size = 16384}.words();
  EXPECT_FALSE(decode(version_5_3(), words)->of_huge_pages);
  words[0] |= std::uint64_t{1} << 14;
  EXPECT_TRUE(decode(version_5_3(), words)->of_huge_pages);
}

TEST(JemallocLayout, FreePagesOfAFormerSlabAreNotASlab) {
  const auto extent =
      decode(version_5_3(), Record53{.slab = 1, .state = 1, .size_class = 232, .free = 8}.words());
  ASSERT_TRUE(extent);
  EXPECT_FALSE(extent->slab);
  EXPECT_EQ(extent->usable, 0u);
}

TEST(JemallocLayout, ARecordThatContradictsItselfIsRejected) {
  EXPECT_FALSE(
      decode(version_5_3(), Record53{.slab = 1, .size_class = 17, .free = 33, .size = 5 * 4096}.words()));
  EXPECT_FALSE(decode(version_5_3(), Record53{.slab = 1, .size_class = 36, .size = 16384}.words()));
  EXPECT_FALSE(
      decode(version_5_3(), Record53{.slab = 1, .size_class = 0, .size = 8192}.words()));  // 1,024 blocks
  EXPECT_FALSE(decode(version_5_3(), Record53{.arena = 4095, .state = 1}.words()));
  EXPECT_FALSE(decode(version_5_3(), Record53{.state = 6}.words()));
  EXPECT_FALSE(decode(version_5_3(), Record53{.size_class = 232}.words()));
  EXPECT_FALSE(decode(version_5_3(), Record53{.state = 1, .address = 0}.words()));
  EXPECT_FALSE(decode(version_5_3(), Record53{.state = 1, .size = 4095}.words()));
  EXPECT_FALSE(decode(version_5_3(), Record53{.state = 1, .address = std::uint64_t{1} << 47}.words()));
  EXPECT_FALSE(decode(version_5_3(), Record53{.state = 1, .size = std::uint64_t{1} << 47}.words()));
}

TEST(JemallocLayout, ALargeBlockOfOneVersionIsRejectedByAnother) {
  const ExtentWords words = Record53{.size_class = 40, .size = class_size(40) + 4096}.words();
  EXPECT_TRUE(decode(layouts()[0], words));
  EXPECT_FALSE(decode(layouts()[1], words));
  EXPECT_FALSE(decode(layouts()[2], words));
}

}  // namespace
}  // namespace fathom::allocators::jemalloc
