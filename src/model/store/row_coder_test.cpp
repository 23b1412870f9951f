#include "model/store/row_coder.h"

#include <gtest/gtest.h>

#include <vector>

namespace fathom::store {
namespace coded {

// A row of a later version: `added` came with version 1.12, `timed`, `seen` and `end` share a column.
struct LaterRow {
  model::StackId stack;
  std::uint64_t start_ns = 0, end_ns = 0, peak_ns = 0;
  double bytes = 0;
  model::ThreadId thread = model::kNoThread;
  bool timed = true, seen = false;
  std::uint8_t end = 0;
  std::uint64_t cache = 0;
  std::uint32_t added = 7;
  auto operator<=>(const LaterRow&) const = default;
};
// The same before `added`.
struct EarlierRow : LaterRow {};

template <class Visitor, class Row>
constexpr void common_fields_of(Visitor&& field, Row& row) {
  using model::Stored;
  field({"stack", "", model::kDifference}, row.stack);
  field({"start_ns", "", model::kDifference}, row.start_ns);
  field({"end_ns", "", {.stored = Stored::kLength}}, row.end_ns);
  field({"peak_ns", "", {.stored = Stored::kAround}}, row.peak_ns);
  field({"bytes", ""}, row.bytes);
  field({"thread", ""}, model::or_none(row.thread, model::kNoThread));
  field({"timed", "", {.bit = 0x100, .shares_next = true, .inverted = true}}, row.timed);
  field({"seen", "", {.bit = 0x200, .shares_next = true}}, row.seen);
  field({"end", ""}, row.end);
  field({"cache", "", {.stored = Stored::kNever}}, row.cache);
}
template <class Visitor, model::RowOf<LaterRow> Row>
constexpr void fields_of(Visitor&& field, Row& row) {
  common_fields_of(field, row);
  field({"added", "", {.since = 12}}, row.added);
}
template <class Visitor, model::RowOf<EarlierRow> Row>
constexpr void fields_of(Visitor&& field, Row& row) {
  common_fields_of(field, row);
}

}  // namespace coded

namespace {

using coded::EarlierRow;
using coded::LaterRow;

template <class Row>
std::vector<Row> some_rows() {
  std::vector<Row> rows(5);
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    row.stack = {100 - 7 * i};
    row.start_ns = 1'000'000 + 1000 * i;
    row.end_ns = row.start_ns + i;
    row.peak_ns = row.start_ns + 500 - 300 * i;
    row.bytes = i == 3 ? 0.25 : i * 1e6;
    if (i != 2) row.thread = {i};
    row.timed = i % 2 == 0;
    row.seen = i % 3 == 0;
    row.end = static_cast<std::uint8_t>(i == 4 ? 255 : i);
    row.added = 40 + i;
  }
  return rows;
}

template <class Row>
Bytes columns(const std::vector<Row>& rows) {
  Bytes bytes;
  put_row_columns(bytes, std::span<const Row>(rows));
  return bytes;
}

template <class Row>
Result<std::vector<Row>> read_back(const Bytes& bytes, std::size_t rows) {
  Loading loading({}, bytes.size());
  Cursor in(bytes);
  std::vector<Row> read;
  auto whole =
      read_row_columns<Row>(in, rows, "test rows", loading, [&](const Row& row) { read.push_back(row); });
  if (!whole) return tl::make_unexpected(whole.error());
  return read;
}

TEST(RowCoder, RowsComeBackWithEveryFieldThatIsStored) {
  const auto rows = some_rows<LaterRow>();
  auto written = rows;
  for (LaterRow& row : written) row.cache = 99;
  const auto read = read_back<LaterRow>(columns(written), rows.size());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, rows) << "without what is never stored";
}

TEST(RowCoder, AFieldThatAnEarlierVersionDidNotHaveKeepsItsDefault) {
  auto expected = some_rows<LaterRow>();
  for (LaterRow& row : expected) row.added = 7;
  const auto read = read_back<LaterRow>(columns(some_rows<EarlierRow>()), expected.size());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, expected);
}

TEST(RowCoder, AColumnOfALaterVersionIsSkipped) {
  const auto read = read_back<EarlierRow>(columns(some_rows<LaterRow>()), 5);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 5u);
  EXPECT_EQ(read->back().end, 255);
}

TEST(RowCoder, AColumnThatEveryVersionHasMustBeThere) {
  const Bytes whole = columns(some_rows<EarlierRow>());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(
        read_back<LaterRow>(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)), 5))
        << size;
}

// An id or number from the file never wraps around to another one that is valid.
TEST(RowCoder, NumbersThatDoNotFitBecomeTheLargest) {
  RowCoder<LaterRow>::Codes codes{};
  codes.fill(UINT64_MAX);
  codes[0] = zigzag(-1);  // the difference from 0
  const LaterRow row = RowCoder<LaterRow>().decode(codes);
  EXPECT_EQ(row.stack.value, kLostRow);
  EXPECT_EQ(row.thread.value, kLostRow - 1) << "not that there is none";
  EXPECT_EQ(row.added, UINT32_MAX);
}

}  // namespace
}  // namespace fathom::store
