#include "base/varint.h"

#include <gtest/gtest.h>

#include <random>

#include "base/cursor.h"

namespace fathom {
namespace {

TEST(Varint, WritingThenReadingGivesTheSameNumbers) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> numbers = {0, 127, 128, UINT64_MAX, 1ull << 63};
  for (int i = 0; i < 1000; ++i) numbers.push_back(random() >> (random() % 64));
  Bytes bytes;
  for (auto number : numbers) put_varint(bytes, number);
  for (auto number : numbers) put_signed_varint(bytes, static_cast<std::int64_t>(number));
  Cursor in(bytes);
  for (auto number : numbers) EXPECT_EQ(in.read_uleb128(), number);
  for (auto number : numbers) EXPECT_EQ(unzigzag(in.read_uleb128()), static_cast<std::int64_t>(number));
  EXPECT_TRUE(in.ok());
  EXPECT_TRUE(in.at_end());
}

}  // namespace
}  // namespace fathom
