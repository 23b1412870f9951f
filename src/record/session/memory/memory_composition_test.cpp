#include "record/session/memory/memory_composition.h"

#include <gtest/gtest.h>

namespace fathom::session {
namespace {

using namespace model;
using sources::JudgedMapping;
using sources::MappingUse;

constexpr std::uint64_t kPage = sources::ResidentPages::kPage;
constexpr HeapAllocatorId kGlibc{1}, kJemalloc{2};

JudgedMapping anonymous(std::uint64_t start, std::uint64_t pages, std::uint64_t resident,
                        MappingUse use = MappingUse::kAnonymous, std::string name = "") {
  JudgedMapping judged;
  judged.mapping.entry.start = {start};
  judged.mapping.entry.end = {start + pages * kPage};
  judged.mapping.entry.readable = judged.mapping.entry.writable = true;
  judged.mapping.rss = judged.mapping.anonymous = resident * kPage;
  judged.use = use;
  judged.name = std::move(name);
  return judged;
}
JudgedMapping file(std::uint64_t start, std::uint64_t pages, std::uint64_t resident, std::uint64_t changed,
                   bool writable) {
  JudgedMapping judged = anonymous(start, pages, resident, MappingUse::kFile, "/bin/x");
  judged.mapping.entry.writable = writable;
  judged.mapping.entry.inode = 1;
  judged.mapping.anonymous = changed * kPage;
  return judged;
}

class Composed {
 public:
  explicit Composed(const MemoryComposition& composition)
      : rows_(composition.rows(1, {}, kGlibc, builder_)) {}
  // One row, or a row of nothing.
  MemoryRange row(MemoryKind kind, std::string_view name = "", HeapAllocatorId allocator = {}) const {
    for (const MemoryRange& row : rows_)
      if (row.kind == kind && profile_.strings[row.name] == name && row.allocator == allocator) return row;
    return {};
  }
  std::uint64_t rss() const {
    std::uint64_t sum = 0;
    for (const MemoryRange& row : rows_) sum += row.rss_bytes;
    return sum;
  }
  std::size_t size() const { return rows_.size(); }

 private:
  Profile profile_;
  Builder builder_{profile_};
  std::vector<MemoryRange> rows_;
};

TEST(MemoryComposition, AMappingBelongsToWhoseBlocksAreInIt) {
  MemoryComposition composition({anonymous(0x10000, 4, 4), anonymous(0x20000, 4, 2)}, {}, {});
  composition.add_block(0x10010, 3000, kGlibc, sources::heap::exact_weight(3000));
  composition.add_block(0x12000, 5000, kGlibc, sources::heap::exact_weight(5000));
  const Composed composed(composition);
  const MemoryRange glibc = composed.row(MemoryKind::kAllocator, "", kGlibc);
  EXPECT_EQ(glibc.rss_bytes, 4 * kPage);
  EXPECT_EQ(glibc.live_blocks, 2);
  EXPECT_EQ(glibc.live_bytes, 8000);
  EXPECT_EQ(glibc.live_resident_bytes, 8000);
  EXPECT_EQ(composed.row(MemoryKind::kUnknown).rss_bytes, 2 * kPage);
}

TEST(MemoryComposition, BlocksThatWereNeverTouchedAreLiveAndNotResident) {
  MemoryComposition composition({anonymous(0x10000, 4, 2)}, {}, {});
  ASSERT_EQ(composition.wanted_pages(100).size(), 1u);
  sources::ResidentPages pages;
  pages.add(0x10000, {true, true, false, false});
  composition.set_pages(std::move(pages));
  composition.add_block(0x10000, kPage, kGlibc, sources::heap::exact_weight(kPage));
  composition.add_block(0x12000, 2 * kPage, kGlibc, sources::heap::exact_weight(2 * kPage));
  const MemoryRange row = Composed(composition).row(MemoryKind::kAllocator, "", kGlibc);
  EXPECT_EQ(row.live_bytes, 3 * kPage);
  EXPECT_EQ(row.live_resident_bytes, kPage);
  EXPECT_FALSE(row.live_is_bound);
}

TEST(MemoryComposition, WithoutPagesTheLesserOfTheTwoIsTaken) {
  MemoryComposition composition({anonymous(0x10000, 4, 2)}, {}, {});
  EXPECT_TRUE(composition.wanted_pages(3).empty()) << "too large to look at";
  composition.add_block(0x10000, 4 * kPage, kGlibc, sources::heap::exact_weight(4 * kPage));
  const MemoryRange row = Composed(composition).row(MemoryKind::kAllocator, "", kGlibc);
  EXPECT_EQ(row.live_resident_bytes, 2 * kPage);
  EXPECT_TRUE(row.live_is_bound);
}

TEST(MemoryComposition, OfTwoAllocatorsEachHasItsShare) {
  MemoryComposition composition({anonymous(0x10000, 4, 4)}, {}, {});
  composition.add_block(0x10000, 3000, kGlibc, sources::heap::exact_weight(3000));
  composition.add_block(0x11000, 1000, kJemalloc, sources::heap::exact_weight(1000));
  const Composed composed(composition);
  EXPECT_EQ(composed.row(MemoryKind::kAllocator, "", kGlibc).rss_bytes, 3 * kPage);
  EXPECT_EQ(composed.row(MemoryKind::kAllocator, "", kJemalloc).rss_bytes, kPage);
  EXPECT_TRUE(composed.row(MemoryKind::kAllocator, "", kGlibc).shared_out);
}

TEST(MemoryComposition, SampledBlocksStandForOthersElsewhere) {
  MemoryComposition composition({anonymous(0x10000, 1, 1)}, {}, {});
  composition.add_block(0x10000, 1000, kGlibc, {{20, 20'000}, {380, 380e6}});
  const MemoryRange row = Composed(composition).row(MemoryKind::kAllocator, "", kGlibc);
  EXPECT_EQ(row.live_resident_bytes, 20'000) << "more than this mapping holds";
  EXPECT_EQ(row.live_resident_variance, 380e6);
  EXPECT_EQ(row.rss_bytes, kPage);
}

// One mapping, as the kernel joins neighbours: mapped by the program in its middle.
TEST(MemoryComposition, WhatTheProgramMappedIsCutOut) {
  const std::vector<AddressRange> mapped{{0x11000, 0x13000}, {0x90000, 0x91000}};
  MemoryComposition composition({anonymous(0x10000, 4, 3)}, {}, mapped);
  sources::ResidentPages pages;
  pages.add(0x10000, {true, true, false, true});
  composition.set_pages(std::move(pages));
  composition.add_block(0x10000, 100, kJemalloc, sources::heap::exact_weight(100));
  const Composed composed(composition);
  EXPECT_EQ(composed.row(MemoryKind::kMapped).rss_bytes, kPage);
  EXPECT_EQ(composed.row(MemoryKind::kMapped).virtual_bytes, 2 * kPage);
  EXPECT_EQ(composed.row(MemoryKind::kAllocator, "", kJemalloc).rss_bytes, kPage);
  EXPECT_EQ(composed.row(MemoryKind::kUnknown).rss_bytes, kPage);
  EXPECT_EQ(composed.rss(), 3 * kPage);
}

TEST(MemoryComposition, APoolThatAnAllocatorHandsOutIsTheAllocators) {
  const std::vector<AddressRange> mapped{{0x10000, 0x14000}};
  MemoryComposition composition({anonymous(0x10000, 4, 4)}, {}, mapped);
  composition.add_block(0x11000, 100, kJemalloc, sources::heap::exact_weight(100));
  EXPECT_EQ(Composed(composition).row(MemoryKind::kAllocator, "", kJemalloc).rss_bytes, 4 * kPage);
}

TEST(MemoryComposition, WhatAnAllocatorSaysItHoldsIsTakenFromItsMapping) {
  MemoryComposition composition({anonymous(0x10000, 8, 6), anonymous(0x18000, 2, 2)}, {}, {});
  sources::ResidentPages pages;
  pages.add(0x10000, {true, true, true, true, false, false, true, true, true, true});
  composition.set_pages(std::move(pages));
  composition.add_held(0x10000, 0x13000, kJemalloc, "in use");
  composition.add_held(0x13000, 0x16000, kJemalloc, "dirty");
  composition.add_held(0x17000, 0x19000, kJemalloc, "in use");  // over the border of two mappings
  composition.add_held(0x90000, 0x91000, kJemalloc, "in use");  // where nothing is mapped
  const Composed composed(composition);
  EXPECT_EQ(composed.row(MemoryKind::kAllocator, "in use", kJemalloc).rss_bytes, 5 * kPage);
  EXPECT_EQ(composed.row(MemoryKind::kAllocator, "in use", kJemalloc).ranges, 3u);
  EXPECT_EQ(composed.row(MemoryKind::kAllocator, "dirty", kJemalloc).rss_bytes, kPage);
  EXPECT_EQ(composed.row(MemoryKind::kAllocator, "dirty", kJemalloc).virtual_bytes, 3 * kPage);
  EXPECT_EQ(composed.row(MemoryKind::kUnknown).rss_bytes, 2 * kPage);
  EXPECT_EQ(composed.row(MemoryKind::kUnknown).virtual_bytes, 2 * kPage);
  EXPECT_EQ(composed.rss(), 8 * kPage);
}

TEST(MemoryComposition, KnownBlocksSayMoreThanTheAllocator) {
  MemoryComposition composition({anonymous(0x10000, 4, 4)}, {}, {});
  composition.add_held(0x10000, 0x14000, kJemalloc, "in use");
  composition.add_block(0x10000, 3000, kGlibc, sources::heap::exact_weight(3000));
  const Composed composed(composition);
  EXPECT_EQ(composed.row(MemoryKind::kAllocator, "", kGlibc).rss_bytes, 4 * kPage);
  EXPECT_EQ(composed.rss(), 4 * kPage);
}

TEST(MemoryComposition, CodeIsApartFromTheOtherPagesOfItsFile) {
  JudgedMapping code = file(0x10000, 4, 3, 0, false);
  code.mapping.entry.executable = true;
  const Composed composed(MemoryComposition({code, file(0x20000, 4, 2, 0, false)}, {}, {}));
  EXPECT_EQ(composed.row(MemoryKind::kFile, "/bin/x (code)").rss_bytes, 3 * kPage);
  EXPECT_EQ(composed.row(MemoryKind::kFile, "/bin/x").rss_bytes, 2 * kPage);
}

TEST(MemoryComposition, NoRowOfAFileIsMoreResidentThanItIsLarge) {
  // Relocated constants are changed pages of a mapping that is read-only by now; data has pages that are not changed yet.
  for (std::uint64_t resident = 0; resident <= 6; ++resident)
    for (std::uint64_t changed = 0; changed <= resident; ++changed)
      for (const bool writable : {false, true}) {
        const Composed composed(MemoryComposition({file(0x10000, 6, resident, changed, writable)}, {}, {}));
        const MemoryRange pages = composed.row(MemoryKind::kFile, "/bin/x"),
                          data = composed.row(MemoryKind::kFileData, "/bin/x");
        EXPECT_EQ(pages.virtual_bytes + data.virtual_bytes, 6 * kPage);
        EXPECT_GE(pages.virtual_bytes, pages.rss_bytes);
        EXPECT_GE(data.virtual_bytes, data.rss_bytes);
        EXPECT_EQ(data.rss_bytes, changed * kPage);
      }
}

TEST(MemoryComposition, StacksFilesAndTheTracerAreSeparate) {
  const tracer_own_mapping own{0x50000, 2 * kPage};
  const std::vector<AddressRange> mapped{{0x40000, 0x44000}};  // the library maps stacks for threads
  MemoryComposition composition({file(0x10000, 8, 5, 1, false), file(0x20000, 2, 2, 1, true),
                                 anonymous(0x22000, 4, 3, MappingUse::kFileZeroed, "/bin/x"),
                                 anonymous(0x30000, 2, 1, MappingUse::kBreak, "[heap]"),
                                 anonymous(0x40000, 4, 2, MappingUse::kThreadStack, "worker"),
                                 anonymous(0x50000, 2, 2), anonymous(0x60000, 2, 1, MappingUse::kArena),
                                 anonymous(0x70000, 2, 1, MappingUse::kMainStack, "[stack]")},
                                std::span(&own, 1), mapped);
  const Composed composed(composition);
  EXPECT_EQ(composed.row(MemoryKind::kFile, "/bin/x").rss_bytes, 5 * kPage);
  EXPECT_EQ(composed.row(MemoryKind::kFile, "/bin/x").anonymous_bytes, 0u);
  EXPECT_EQ(composed.row(MemoryKind::kFile, "/bin/x").virtual_bytes, 8 * kPage);
  EXPECT_EQ(composed.row(MemoryKind::kFileData, "/bin/x").rss_bytes, 5 * kPage);
  EXPECT_EQ(composed.row(MemoryKind::kFileData, "/bin/x").anonymous_bytes, 5 * kPage);
  EXPECT_EQ(composed.row(MemoryKind::kFileData, "/bin/x").virtual_bytes, 6 * kPage);
  EXPECT_EQ(composed.row(MemoryKind::kBreak, "[heap]").rss_bytes, kPage);
  EXPECT_EQ(composed.row(MemoryKind::kThreadStack, "worker").rss_bytes, 2 * kPage);
  EXPECT_EQ(composed.row(MemoryKind::kTracer).rss_bytes, 2 * kPage);
  EXPECT_EQ(composed.row(MemoryKind::kAllocator, "glibc arena", kGlibc).rss_bytes, kPage);
  EXPECT_EQ(composed.row(MemoryKind::kMainStack).rss_bytes, kPage);
  EXPECT_EQ(composed.rss(), 17 * kPage);
}

TEST(MemoryComposition, ManyNamesBecomeOthersAndNothingIsLost) {
  std::vector<JudgedMapping> mappings;
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    mappings.push_back(anonymous(0x100000 + i * 16 * kPage, 8, 1 + i % 8, MappingUse::kAnonymous,
                                 "[anon:" + std::to_string(i) + "]"));
    expected += (1 + i % 8) * kPage;
  }
  const Composed composed(MemoryComposition(std::move(mappings), {}, {}));
  EXPECT_EQ(composed.size(), MemoryComposition::kMostNamed + 1);
  EXPECT_EQ(composed.rss(), expected);
  EXPECT_GT(composed.row(MemoryKind::kUnknown, "others").ranges, 700u);
}

}  // namespace
}  // namespace fathom::session
