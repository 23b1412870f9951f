#include "model/store/column.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace fathom::store {
namespace {

std::vector<std::uint64_t> read_column(const Bytes& bytes, std::size_t rows, bool& ok) {
  Cursor in(bytes);
  ColumnReader reader(in, rows);
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < rows; ++i) values.push_back(reader.next());
  ok = reader.ok() && in.ok() && in.at_end();
  return values;
}

TEST(Column, WritingThenReadingGivesTheSameValues) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint64_t> values;
    while (values.size() < static_cast<std::size_t>(round)) {
      const std::uint64_t value = random() >> (random() % 64);
      values.insert(values.end(), random() % 3 == 0 ? random() % 20 : 1, value);
    }
    Bytes bytes;
    put_column(bytes, values);
    bool ok = false;
    EXPECT_EQ(read_column(bytes, values.size(), ok), values);
    EXPECT_TRUE(ok);
  }
}

TEST(Column, FilledGroupsHaveTheSameValuesAsSingleOnes) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    const unsigned longest = 1 + static_cast<unsigned>(random() % 64);  // bits
    std::vector<std::uint64_t> values(random() % 600);
    for (std::uint64_t& value : values) value = random() >> (64 - 1 - random() % longest);
    if (round % 5 == 0 && !values.empty()) std::fill(values.begin() + 1, values.end(), values[0]);
    Bytes bytes;
    put_column(bytes, values);
    Cursor in(bytes);
    ColumnReader reader(in, values.size());
    std::vector<std::uint64_t> filled(values.size());
    for (std::size_t from = 0; from < filled.size();) {
      const std::size_t count = std::min<std::size_t>(1 + random() % 200, filled.size() - from);
      reader.fill(std::span(filled).subspan(from, count));
      from += count;
    }
    EXPECT_EQ(filled, values) << "round " << round;
    EXPECT_TRUE(reader.ok());
    filled.resize(1);
    reader.fill(filled);
    EXPECT_FALSE(reader.ok()) << "one more than was stored";
  }
}

TEST(Column, ManyEqualValuesCostOneRun) {
  Bytes bytes;
  put_column(bytes, std::vector<std::uint64_t>(1000, 1));
  EXPECT_EQ(bytes.size(), 5u);  // encoding, size, value, two bytes of count
}

TEST(Column, ReadingMoreThanWasStoredIsDetected) {
  for (const std::uint64_t second : {1, 2}) {  // plain, then one run
    Bytes bytes;
    put_column(bytes, std::vector<std::uint64_t>{1, second, 1, 1, 1, 1, 1, 1});
    bool ok = true;
    read_column(bytes, 9, ok);
    EXPECT_FALSE(ok);
  }
}

TEST(Column, RowsOfAPlainColumnNeedAsManyBytes) {
  Bytes bytes;
  put_column(bytes, std::vector<std::uint64_t>{1, 2, 3});
  Cursor in(bytes);
  EXPECT_FALSE(ColumnReader(in, 4).ok());
}

// Numbers that are too long, too large or cut short, as a damaged file has them.
TEST(Column, AnyBytesAreReadAsACursorReadsThem) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20'000; ++round) {
    Bytes values(1 + random() % 24);
    for (std::byte& byte : values)
      byte = static_cast<std::byte>(random() % 3 == 0 ? random() & 0x7f : random() | 0x80);
    if (random() % 2 == 0) values.back() &= std::byte{0x7f};
    Bytes bytes{std::byte{0}};
    put_varint(bytes, values.size());
    bytes.insert(bytes.end(), values.begin(), values.end());
    Cursor in(bytes), expected(values);
    ColumnReader reader(in, 0), whole(reader);
    std::array<std::uint64_t, 26> filled{};
    whole.fill(filled);
    ASSERT_FALSE(whole.ok()) << "round " << round;
    for (std::size_t i = 0; i < filled.size(); ++i) {
      const std::uint64_t value = reader.next(), wanted = expected.read_uleb128();
      ASSERT_EQ(reader.ok(), expected.ok()) << "round " << round;
      if (!expected.ok()) break;  // what is read after that is refused
      ASSERT_EQ(value, wanted) << "round " << round;
      ASSERT_EQ(filled[i], wanted) << "round " << round;
    }
  }
}

TEST(Column, EveryPrefixIsDetected) {
  Bytes bytes;
  put_column(bytes, std::vector<std::uint64_t>{1, 2, 3, 1000, 100000, 7});
  while (!bytes.empty()) {
    bytes.pop_back();
    bool ok = true;
    read_column(bytes, 6, ok);
    EXPECT_FALSE(ok);
  }
}

}  // namespace
}  // namespace fathom::store
