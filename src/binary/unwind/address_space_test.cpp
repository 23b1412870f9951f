#include "binary/unwind/address_space.h"

#include <gtest/gtest.h>

#include "binary/unwind/testing_module.h"

namespace fathom::unwind {
namespace {

std::shared_ptr<const Table> some_table() {
  testing::SectionBuilder frames;
  frames.fde(frames.cie(), testing::kCode + 0x10000, 0x20, {});
  return std::make_shared<Table>(testing::table_of({.eh_frame = frames.raw()}));
}

TEST(AddressSpace, FindsTheMappingThatHoldsAnAddress) {
  AddressSpace space;
  const auto table = some_table();
  space.add({0x7000}, {0x8000}, 0x1000, table);
  space.add({0x3000}, {0x4000}, 0, nullptr);
  ASSERT_EQ(space.mappings().size(), 2u);
  EXPECT_EQ(space.find({0x2fff}), nullptr);
  EXPECT_EQ(space.find({0x3000}), &space.mappings()[0]);
  EXPECT_EQ(space.find({0x4000}), nullptr);
  EXPECT_EQ(space.find({0x7fff}), &space.mappings()[1]);
  EXPECT_EQ(space.find({0x8000}), nullptr);
}

TEST(AddressSpace, MappingSaysWhatItsTableCovers) {
  AddressSpace space;
  const auto table = some_table();
  space.add({0x7000}, {0x8000}, 0x1000, table);
  space.add({0x9000}, {0xa000}, 0x1000, nullptr);
  const auto& with = space.mappings()[0];
  EXPECT_EQ(with.bias, 0x1000u);
  EXPECT_EQ(with.page_base, table->page_base);
  EXPECT_EQ(with.page_count, table->pages.size());
  EXPECT_EQ(with.first_page, 0u);
  EXPECT_EQ(space.table(0), table.get());
  const auto& without = space.mappings()[1];
  EXPECT_EQ(without.page_count, 0u);
  EXPECT_EQ(without.bias, 0u);
  EXPECT_EQ(space.table(1), nullptr);
}

TEST(AddressSpace, NewMappingReplacesWhatItCovers) {
  AddressSpace space;
  const auto table = some_table();
  space.add({0x1000}, {0x9000}, 0, table);
  space.add({0x3000}, {0x4000}, 0, nullptr);
  ASSERT_EQ(space.mappings().size(), 3u);
  EXPECT_EQ(space.mappings()[0].end, 0x3000u);
  EXPECT_EQ(space.mappings()[2].start, 0x4000u);
  EXPECT_EQ(space.table(0), table.get());
  EXPECT_EQ(space.table(1), nullptr);
  EXPECT_EQ(space.table(2), table.get());
  space.add({0x2000}, {0x5000}, 0, table);
  EXPECT_EQ(space.mappings().size(), 3u);
  space.add({0x0}, {0x10000}, 0, nullptr);
  EXPECT_EQ(space.mappings().size(), 1u);
}

TEST(AddressSpace, UnmappedRangesAreCutOut) {
  AddressSpace space;
  space.add({0x1000}, {0x9000}, 0, nullptr);
  space.remove({0x2000}, {0x3000});
  space.remove({0x8000}, {0x20000});
  EXPECT_NE(space.find({0x1fff}), nullptr);
  EXPECT_EQ(space.find({0x2000}), nullptr);
  EXPECT_NE(space.find({0x3000}), nullptr);
  EXPECT_EQ(space.find({0x8000}), nullptr);
  space.clear();
  EXPECT_TRUE(space.mappings().empty());
}

TEST(AddressSpace, EmptyRangeIsIgnored) {
  AddressSpace space;
  space.add({0x1000}, {0x1000}, 0, nullptr);
  space.add({0x2000}, {0x1000}, 0, nullptr);
  EXPECT_TRUE(space.mappings().empty());
}

}  // namespace
}  // namespace fathom::unwind
