#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "formats/parquet/footer.h"
#include "formats/parquet/reader.h"
#include "formats/parquet/writer.h"

namespace fathom::parquet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr ColumnInfo kColumns[] = {
    {"id", ColumnKind::kUnsigned, false},     {"value", ColumnKind::kSigned, false},
    {"start", ColumnKind::kTimestamp, false}, {"flag", ColumnKind::kByte, false},
    {"name", ColumnKind::kText, false},       {"frames", ColumnKind::kText, true},
    {"flags", ColumnKind::kByte, true}};

Table random_table(std::uint64_t seed, std::uint64_t rows) {
  std::mt19937_64 random(seed);
  Table table;
  table.rows = rows;
  for (const ColumnInfo& info : kColumns) {
    Column& column = table.columns.emplace_back();
    column.info = info;
    if (info.kind == ColumnKind::kText)
      for (std::uint64_t i = 0; i <= random() % 30; ++i) column.texts.push_back("text " + std::to_string(i));
    for (std::uint64_t row = 0; row < rows; ++row) {
      const auto length = static_cast<std::uint32_t>(info.is_list ? random() % 4 : 1);
      if (info.is_list) column.lengths.push_back(length);
      for (std::uint32_t i = 0; i < length; ++i)
        column.numbers.push_back(info.kind == ColumnKind::kText        ? random() % column.texts.size()
                                 : info.kind == ColumnKind::kByte      ? random() & 0xff
                                 : info.kind == ColumnKind::kTimestamp ? random() >> 12
                                                                       : random());
    }
  }
  return table;
}

Result<Table> read_all(const std::string& file) {
  return read_parquet(file, "x.parquet", kColumns);
}

TEST(Parquet, TablesComeBackAsTheyWereWritten) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Table table = random_table(seed, seed < 3 ? seed : seed * seed % 997);
    const auto file = write_parquet(table, {{"by", "test"}});
    ASSERT_TRUE(file);
    const auto back = read_all(*file);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->rows, table.rows) << seed;
    // A column without a value has no page, and so no dictionary.
    if (table.rows != 0) {
      EXPECT_EQ(back->columns, table.columns) << seed;
    }
  }
}

TEST(Parquet, TheSameTableGivesTheSameBytes) {
  EXPECT_EQ(write_parquet(random_table(5, 100), {}).value(), write_parquet(random_table(5, 100), {}).value());
}

TEST(Parquet, WantedColumnsComeInTheOrderInWhichTheyAreAskedFor) {
  const std::string file = write_parquet(random_table(1, 10), {}).value();
  const ColumnInfo wanted[] = {kColumns[5], kColumns[0]};
  const Table table = read_parquet(file, "x", wanted).value();
  ASSERT_EQ(table.columns.size(), 2U);
  EXPECT_EQ(table.columns[0].info.name, "frames");
  EXPECT_EQ(table.columns[1].info.name, "id");
}

TEST(Parquet, AMissingColumnAndOneOfAnotherTypeAreNamed) {
  const std::string file = write_parquet(random_table(1, 10), {}).value();
  const ColumnInfo missing[] = {{"nothing", ColumnKind::kText, false}},
                   other[] = {{"name", ColumnKind::kUnsigned, false}},
                   flat[] = {{"frames", ColumnKind::kText, false}};
  EXPECT_EQ(read_parquet(file, "x", missing).error().message, "x: column nothing is missing");
  EXPECT_EQ(read_parquet(file, "x", other).error().message, "x: column name has another type");
  EXPECT_EQ(read_parquet(file, "x", flat).error().message, "x: column frames has another type");
}

// As of files that an earlier version wrote.
TEST(Parquet, AColumnThatMayMissIsZerosAndEmptyTexts) {
  const auto file = write_parquet(random_table(1, 7), {});
  ASSERT_TRUE(file);
  constexpr ColumnInfo kNewer[] = {{"id", ColumnKind::kUnsigned, false},
                                   {"later", ColumnKind::kUnsigned, false, true},
                                   {"why", ColumnKind::kText, false, true}};
  const auto table = read_parquet(*file, "x.parquet", kNewer);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->columns[1].numbers, std::vector<std::uint64_t>(7, 0));
  EXPECT_EQ(table->columns[2].numbers, std::vector<std::uint64_t>(7, 0));
  EXPECT_THAT(table->columns[2].texts, ElementsAre(""));
}

TEST(Parquet, AListIsAGroupWithARepeatedGroupInIt) {
  const std::string file = write_parquet(random_table(1, 10), {}).value();
  const Footer footer = read_footer(file, "x").value();
  ASSERT_EQ(footer.leaves.size(), std::size(kColumns));
  EXPECT_THAT(footer.leaves[5].path, ElementsAre("frames", "list", "element"));
  EXPECT_EQ(footer.leaves[5].most_repeated, 1U);
  EXPECT_EQ(footer.leaves[5].most_defined, 1U);
}

TEST(Parquet, DamagedFilesAreErrorsOfOneLineAndNeverMore) {
  const std::string file = write_parquet(random_table(4, 20), {{"key", "value"}}).value();
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto read = read_all(file.substr(0, size));
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
  for (std::size_t i = 0; i < file.size(); ++i)
    for (const char flip : {'\x01', '\x7f'}) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      const auto read = read_all(damaged);
      if (!read) {
        EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
      }
    }
}

TEST(Parquet, AnotherKindOfFileIsSaidToBeOne) {
  EXPECT_THAT(read_all("hello").error().message, HasSubstr("not a Parquet file"));
  EXPECT_THAT(read_all("").error().message, HasSubstr("not a Parquet file"));
}

}  // namespace
}  // namespace fathom::parquet
