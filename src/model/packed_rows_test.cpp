#include "model/packed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "model/profile.h"
#include "model/row_cursor.h"

namespace fathom::model {
namespace {

std::vector<Sample> samples(std::size_t count, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<Sample> out(count);
  std::uint64_t time = 123'456'789'012;
  for (Sample& row : out) {
    row.time_ns = time += random() % 2'000'000;
    row.thread = {static_cast<std::uint32_t>(random() % 40)};
    row.stack = {static_cast<std::uint32_t>(random() % 200'000)};
  }
  return out;
}

std::vector<Sample> gone_over(const Rows<Sample>& rows) {
  std::vector<Sample> out;
  for (const Sample& row : rows) out.push_back(row);
  return out;
}

TEST(PackedRows, WhatGoesInComesOutInItsOrder) {
  const std::vector<Sample> rows = samples(3 * kRowsOfBlock + 7);
  std::vector<Sample> open = rows;
  PackedRows<Sample> packed;
  packed.take_from(open);
  EXPECT_EQ(packed.size(), 3 * kRowsOfBlock);
  EXPECT_EQ(open.size(), 7u);
  const Rows<Sample> all(packed, open);
  EXPECT_EQ(all.size(), rows.size());
  EXPECT_EQ(gone_over(all), rows);
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(all[i], rows[i]) << i;
}

TEST(PackedRows, RowsThatComeLaterStandBehindThoseThatArePacked) {
  const std::vector<Sample> rows = samples(4 * kRowsOfBlock);
  std::vector<Sample> open;
  PackedRows<Sample> packed;
  for (const Sample& row : rows) {
    open.push_back(row);
    if (open.size() == kRowsOfBlock + 100) packed.take_from(open);
  }
  EXPECT_EQ(gone_over({packed, open}), rows);
}

TEST(PackedRows, NumbersOfAnySizeComeBackToTheBit) {
  std::mt19937_64 random(2);
  for (int bits = 0; bits <= 64; ++bits) {
    std::vector<HeapRow> rows(kRowsOfBlock);
    for (HeapRow& row : rows) {
      const std::uint64_t number = bits == 0 ? 0 : random() >> (64 - bits);
      row.slice = {static_cast<std::uint32_t>(number)};
      row.site = {~static_cast<std::uint32_t>(number)};
      row.allocated = {static_cast<double>(number), -static_cast<double>(number) / 3};
      row.churn_variance = 1 / (1 + static_cast<double>(number));
    }
    std::vector<HeapRow> open = rows;
    PackedRows<HeapRow> packed;
    packed.take_from(open);
    packed.give_to(open);
    ASSERT_EQ(open, rows) << bits << " bits";
  }
}

TEST(PackedRows, SamplesOfAServerTakeAThird) {
  std::vector<Sample> open = samples(100 * kRowsOfBlock);
  const std::size_t whole = open.size() * sizeof(Sample);
  PackedRows<Sample> packed;
  packed.take_from(open);
  EXPECT_LT(packed.bytes(), whole / 3);
}

// As many different values as there are, from one to more than pay, each far from the others.
TEST(PackedRows, FewValuesComeBackToTheBit) {
  std::mt19937_64 random(4);
  for (std::uint64_t count = 1; count <= kRowsOfBlock; count += count < 4 ? 1 : count / 3) {
    std::vector<std::uint64_t> values(count);
    for (std::uint64_t& value : values) value = random();
    std::vector<Wait> rows(2 * kRowsOfBlock);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].argument = values[i < count ? i : random() % count];
      rows[i].result = static_cast<std::int64_t>(values[random() % count]);
      rows[i].unfinished = random() % 2 == 0;
    }
    std::vector<Wait> open = rows;
    PackedRows<Wait> packed;
    packed.take_from(open);
    for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(packed[i], rows[i]) << count << ", row " << i;
    packed.give_to(open);
    ASSERT_EQ(open, rows) << count;
  }
}

TEST(PackedRows, AFieldThatIsMostlyNoneTakesAByte) {
  std::mt19937_64 random(5);
  std::vector<Wait> open(100 * kRowsOfBlock);
  for (Wait& row : open)
    if (random() % 4 == 0) {
      row.waker = {static_cast<std::uint32_t>(random() % 20)};
      row.system_call = static_cast<std::int32_t>(random() % 20);
      row.result = static_cast<std::int64_t>(random() % 20);
    }
  const std::size_t rows = open.size();
  PackedRows<Wait> packed;
  packed.take_from(open);
  EXPECT_LT(packed.bytes(), rows * 6);  // two of them for the result
}

TEST(PackedRows, NoRowsAreNone) {
  const PackedRows<Sample> packed;
  const std::vector<Sample> open;
  EXPECT_TRUE(gone_over({packed, open}).empty());
  EXPECT_TRUE(Rows<Sample>(packed, open).empty());
}

TEST(PackedRows, BlocksWithoutARestEndWhereTheLastOneEnds) {
  const std::vector<Sample> rows = samples(2 * kRowsOfBlock);
  std::vector<Sample> open = rows;
  PackedRows<Sample> packed;
  packed.take_from(open);
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(gone_over({packed, open}), rows);
  EXPECT_TRUE(
      std::ranges::all_of(Rows<Sample>(packed, open), [](const Sample& row) { return row.value == 1; }));
}

TEST(PackedRows, ChangedRowsAreSeenAndOthersStay) {
  std::vector<Sample> rows = samples(3 * kRowsOfBlock), open = rows;
  PackedRows<Sample> packed;
  packed.take_from(open);
  const auto change = [](Sample& row) {
    if (row.thread.value != 5) return false;
    row.value = INT64_MIN;
    return true;
  };
  packed.change_each(change);
  for (Sample& row : rows) change(row);
  EXPECT_EQ(gone_over({packed, open}), rows);
}

TEST(PackedRows, GivenBackTheyStandBeforeTheOpenOnes) {
  const std::vector<Sample> rows = samples(2 * kRowsOfBlock + 3);
  std::vector<Sample> open = rows;
  PackedRows<Sample> packed;
  packed.take_from(open);
  packed.give_to(open);
  EXPECT_EQ(open, rows);
  EXPECT_EQ(packed.size(), 0u);
}

TEST(PackedRows, ACursorReadsRowsByNumberInAnyOrder) {
  const std::vector<Sample> rows = samples(3 * kRowsOfBlock + 7);
  std::vector<Sample> open = rows;
  PackedRows<Sample> packed;
  packed.take_from(open);
  RowCursor<Sample> cursor(packed, open);
  for (std::size_t row = 0; row < rows.size(); ++row) ASSERT_EQ(cursor.at(row), rows[row]) << row;
  std::mt19937_64 random(2);
  for (int i = 0; i < 200; ++i) {
    const std::size_t row = random() % rows.size();
    ASSERT_EQ(cursor.at(row), rows[row]) << row;
  }
}

TEST(PackedRows, ACopyDoesNotChangeWithItsOriginal) {
  const std::vector<Sample> rows = samples(2 * kRowsOfBlock);
  std::vector<Sample> open = rows;
  PackedRows<Sample> packed;
  packed.take_from(open);
  const PackedRows<Sample> copy = packed;
  EXPECT_EQ(copy, packed);
  packed.change_each([](Sample& row) { return ++row.value, true; });
  EXPECT_NE(copy, packed);
  EXPECT_EQ(gone_over({copy, open}), rows);
}

}  // namespace
}  // namespace fathom::model
