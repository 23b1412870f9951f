#include "base/cursor.h"

#include <gtest/gtest.h>

#include <vector>

namespace fathom {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

TEST(Cursor, ReadsLittleEndianNumbersAndReportsItsPosition) {
  const auto data = bytes({0x34, 0x12, 0xff, 0xff, 0xff, 0xff});
  Cursor in(data);
  EXPECT_EQ(in.read<std::uint16_t>(), 0x1234);
  EXPECT_EQ(in.offset(), 2u);
  EXPECT_EQ(in.read<std::int32_t>(), -1);
  EXPECT_TRUE(in.ok());
  EXPECT_TRUE(in.at_end());
}

TEST(Cursor, ReadPastTheEndFailsForGoodAndGivesZero) {
  const auto data = bytes({1, 2, 3});
  Cursor in(data);
  EXPECT_EQ(in.read<std::uint32_t>(), 0u);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.read<std::uint8_t>(), 0u);
  EXPECT_FALSE(in.ok());
}

TEST(Cursor, ChildCannotReachItsNeighbour) {
  const auto data = bytes({1, 2, 3, 4});
  Cursor in(data);
  Cursor child = in.sub(2);
  EXPECT_EQ(child.read<std::uint32_t>(), 0u);
  EXPECT_FALSE(child.ok());
  EXPECT_EQ(in.read<std::uint16_t>(), 0x0403);
  EXPECT_TRUE(in.ok());
}

TEST(Cursor, Leb128OfTheDwarfStandard) {
  const auto data = bytes({0xe5, 0x8e, 0x26, 0x7f, 0x80, 0x7f, 0xff, 0x7e});
  Cursor in(data);
  EXPECT_EQ(in.read_uleb128(), 624485u);
  EXPECT_EQ(in.read_sleb128(), -1);
  EXPECT_EQ(in.read_sleb128(), -128);
  EXPECT_EQ(in.read_sleb128(), -129);
  EXPECT_TRUE(in.ok());
}

TEST(Cursor, Leb128LongerThan64BitsIsRefused) {
  const auto data = bytes({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02});
  Cursor in(data);
  in.read_uleb128();
  EXPECT_FALSE(in.ok());
}

TEST(Cursor, StringWithoutEndIsRefused) {
  const auto data = bytes({'a', 'b', 0, 'c'});
  Cursor in(data);
  EXPECT_EQ(in.read_c_string(), "ab");
  EXPECT_EQ(in.read_c_string(), "");
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace fathom
