#include "record/session/memory/huge_rounding.h"

#include <gtest/gtest.h>

namespace fathom::session {
namespace {

using allocators::AddressRanges;
using allocators::HeldKind;
using allocators::HeldRange;

constexpr std::uint64_t kHuge = 2 << 20, kAt = 100 * kHuge;

TEST(HugeRounding, FreePagesNextToALiveBlockAreRounding) {
  const std::vector<HeldRange> ranges{{kAt, kAt + 4096, HeldKind::kLive},
                                      {kAt + 4096, kAt + 3 * kHuge, HeldKind::kRetained}};
  // The second huge page holds nothing: it is what the allocator keeps, and no rounding. The third is no huge page.
  const auto parts = split_by_huge_pages(ranges, AddressRanges({{kAt, kAt + 2 * kHuge}}));
  EXPECT_EQ(parts, (std::vector<HeldPart>{{ranges[0], false},
                                          {{kAt + 4096, kAt + kHuge, HeldKind::kRetained}, true},
                                          {{kAt + kHuge, kAt + 3 * kHuge, HeldKind::kRetained}, false}}));
}

TEST(HugeRounding, WithoutHugePagesThereIsNone) {
  const std::vector<HeldRange> ranges{{kAt, kAt + 4096, HeldKind::kLive},
                                      {kAt + 4096, kAt + kHuge, HeldKind::kDirty}};
  const auto parts = split_by_huge_pages(ranges, AddressRanges());
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_FALSE(parts[0].rounding);
  EXPECT_FALSE(parts[1].rounding);
  EXPECT_EQ(parts[1].range, ranges[1]);
}

TEST(HugeRounding, LiveMemoryIsNeverRounding) {
  const std::vector<HeldRange> ranges{{kAt, kAt + kHuge, HeldKind::kLive},
                                      {kAt + kHuge, kAt + 2 * kHuge, HeldKind::kMetadata}};
  for (const HeldPart& part : split_by_huge_pages(ranges, AddressRanges({{kAt, kAt + 2 * kHuge}})))
    EXPECT_FALSE(part.rounding);
}

TEST(HugeRounding, NothingIsLostAndNothingTwice) {
  std::vector<HeldRange> ranges;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0, at = kAt; i < 500; ++i) {
    const std::uint64_t size = 4096 * (1 + i * 7919 % 900);
    ranges.push_back({at, at + size, static_cast<HeldKind>(i % 5 == 0 ? 0 : 3 + i % 3)});
    bytes += size;
    at += size + (i % 11 == 0 ? 4096 * 37 : 0);
  }
  std::vector<allocators::AddressRange> huge;
  for (std::uint64_t i = 0; i < 400; i += 1 + i % 3) huge.push_back({kAt + i * kHuge, kAt + (i + 1) * kHuge});
  std::uint64_t sum = 0, last = 0;
  for (const HeldPart& part : split_by_huge_pages(ranges, AddressRanges(huge))) {
    EXPECT_LT(part.range.start, part.range.end);
    EXPECT_GE(part.range.start, last);
    last = part.range.end;
    sum += part.range.end - part.range.start;
  }
  EXPECT_EQ(sum, bytes);
}

}  // namespace
}  // namespace fathom::session
