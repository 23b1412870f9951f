#include "base/uint24.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace fathom {
namespace {

TEST(Uint24, EveryNumberThatFitsComesBackAndIsOrderedAsIs) {
  std::mt19937 random(1);
  std::vector<std::uint32_t> numbers = {
      0, 1, 0xff, 0x100, 0xffff, 0x1'0000, Uint24::kMost - 1, Uint24::kMost};
  for (int i = 0; i < 1000; ++i) numbers.push_back(random() >> (8 + random() % 24));
  for (const std::uint32_t a : numbers) {
    Uint24 small;
    small = a;
    EXPECT_EQ(std::uint32_t{small}, a);
    EXPECT_EQ(small + 1, a + 1);  // a sum is no Uint24, and may be larger
    for (const std::uint32_t b : numbers) {
      EXPECT_EQ(small == Uint24(b), a == b);
      EXPECT_EQ(small < Uint24(b), a < b);
      EXPECT_EQ(small < b, a < b);
    }
  }
}

TEST(Uint24, ByteNextToItIsNotTouched) {
  struct Row {
    Uint24 number;
    std::uint8_t next = 7;
  };
  static_assert(sizeof(Row) == 4);
  Row row;
  row.number = Uint24::kMost;
  EXPECT_EQ(row.next, 7);
  row.number = 0;
  EXPECT_EQ(row.next, 7);
}

}  // namespace
}  // namespace fathom
