#include "attach/allocators/state/present_memory.h"

#include <gtest/gtest.h>

namespace fathom::allocators {
namespace {

// Returns the address as content, and remembers the requests.
class CountingReader : public MemoryReader {
 public:
  bool read(std::uint64_t address, std::span<std::byte> into) override {
    asked.push_back({address, address + into.size()});
    std::memset(into.data(), static_cast<int>(address / kPageBytes), into.size());
    return true;
  }
  std::vector<AddressRange> asked;
};

TEST(AddressRanges, AdjacentOnesAreJoinedAndEmptyOnesDropped) {
  const AddressRanges ranges({{8192, 12288}, {4096, 8192}, {20480, 20480}, {32768, 36864}});
  EXPECT_EQ(std::vector(ranges.all().begin(), ranges.all().end()),
            (std::vector<AddressRange>{{4096, 12288}, {32768, 36864}}));
  EXPECT_TRUE(ranges.covers(4096, 8192));
  EXPECT_FALSE(ranges.covers(4096, 8193));
  EXPECT_FALSE(ranges.covers(32768, ~std::uint64_t{0}));
  EXPECT_EQ(ranges.bytes_in(0, 34816), 8192u + 2048u);
  EXPECT_EQ(ranges.bytes_in(36864, 99999), 0u);
  EXPECT_EQ(ranges.within(8192, 33000), (std::vector<AddressRange>{{8192, 12288}, {32768, 33000}}));
}

TEST(AddressRanges, QueriesMayComeInAnyOrder) {
  std::vector<AddressRange> parts;
  for (std::uint64_t i = 0; i < 100; ++i) parts.push_back({i * 8192, i * 8192 + 4096});
  const AddressRanges ranges(parts);
  for (std::uint64_t step : {1, 7, 31, 99})
    for (std::uint64_t i = 0; i < 100; ++i) {
      const std::uint64_t at = i * step % 100 * 8192;
      EXPECT_TRUE(ranges.covers(at, 4096));
      EXPECT_FALSE(ranges.covers(at + 4096, 1));
    }
}

TEST(PresentMemory, AMissingPageIsNeverRead) {
  CountingReader reader;
  const AddressRanges present({{4096, 8192}});
  PresentMemory memory(reader, present);
  std::array<std::byte, 16> bytes;
  EXPECT_FALSE(memory.read(8192 - 8, bytes));
  EXPECT_FALSE(memory.read_cached(8192 - 8, bytes));
  EXPECT_FALSE(memory.value<std::uint64_t>(0));
  for (const AddressRange& each : reader.asked) EXPECT_TRUE(present.covers(each.start, each.size()));
  EXPECT_TRUE(memory.read(8192 - 16, bytes));
}

TEST(PresentMemory, APlaceIsCopiedOnceUntilTheCacheIsCleared) {
  CountingReader reader;
  const AddressRanges present({{4096, 16384}});
  PresentMemory memory(reader, present);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(memory.value<std::uint64_t>(8192 - 4));
  EXPECT_EQ(reader.asked.size(), 2u);
  memory.forget();
  EXPECT_TRUE(memory.value<std::uint64_t>(4096));
  EXPECT_EQ(reader.asked.size(), 3u);
}

TEST(PresentMemory, CopiesNoMoreThanItsLimit) {
  CountingReader reader;
  const AddressRanges present({{4096, 16384}});
  PresentMemory memory(reader, present, {.bytes = 6000});
  std::array<std::byte, 4096> bytes;
  EXPECT_TRUE(memory.read(4096, bytes));
  EXPECT_FALSE(memory.used_up());
  EXPECT_FALSE(memory.read(4096, bytes));
  EXPECT_TRUE(memory.used_up());
}

TEST(PresentMemory, NothingIsReadAfterTheDeadline) {
  CountingReader reader;
  const AddressRanges present({{4096, 16384}});
  std::array<std::byte, 8> bytes;
  PresentMemory late(reader, present, {.until_ns = 1});
  EXPECT_FALSE(late.read(4096, bytes));
  EXPECT_TRUE(late.used_up());
  EXPECT_TRUE(reader.asked.empty());
  PresentMemory early(reader, present, {.until_ns = monotonic_ns() + 3600'000'000'000});
  EXPECT_TRUE(early.read(4096, bytes));
  EXPECT_FALSE(early.used_up());
}

TEST(PresentMemory, ListsReadALinePerPlaceNotAPage) {
  CountingReader reader;
  const AddressRanges present({{0, 1 << 20}});
  PresentMemory memory(reader, present);
  for (std::uint64_t at = 0; at < 1 << 20; at += 4096) EXPECT_TRUE(memory.value<std::uint64_t>(at));
  std::uint64_t bytes = 0;
  for (const AddressRange& each : reader.asked) bytes += each.size();
  EXPECT_LE(bytes, 256u * 1024);
}

TEST(ReadingLimits, DependOnTheResidentMemory) {
  const auto of = [](std::uint64_t bytes) {
    return ReadingLimits::of(AddressRanges({{0x1000'0000, 0x1000'0000 + bytes}}), 7);
  };
  EXPECT_EQ(of(4096).bytes, 8u << 20);
  EXPECT_EQ(of(50 << 20).bytes, 100u << 20);
  EXPECT_EQ(of(std::uint64_t{3} << 40).bytes, 256u << 20);
  EXPECT_EQ(of(4096).until_ns, 7u);
}

}  // namespace
}  // namespace fathom::allocators
