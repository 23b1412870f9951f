#include "formats/parquet/compact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

namespace fathom::parquet {
namespace {

using testing::ElementsAre;

Cursor compact_cursor(const std::string& bytes) {
  return Cursor(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

TEST(ThriftCompact, FieldsAreReadAsTheyWereWritten) {
  CompactWriter inner;
  inner.number64(2, -5);
  CompactWriter writer;
  writer.number32(1, -70000).number64(40, INT64_MIN).text(41, "text").structure(42, inner);
  writer.structures(43, {inner, inner}).numbers32(44, {0, 3, -8}).texts(45, {"a", ""});
  const std::string bytes = writer.finished();
  Cursor in = compact_cursor(bytes);
  CompactFields fields(in);
  const auto inner_number = [&] {
    CompactFields nested(in);
    std::int64_t value = 0;
    while (nested.next()) value = nested.number();
    return value;
  };
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.id(), 1);
  EXPECT_EQ(fields.number(), -70000);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.id(), 40);
  EXPECT_EQ(fields.number(), INT64_MIN);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.text(), "text");
  ASSERT_TRUE(fields.next());
  fields.enter();
  EXPECT_EQ(inner_number(), -5);
  ASSERT_TRUE(fields.next());
  ASSERT_EQ(fields.structures(), 2U);
  EXPECT_EQ(inner_number() + inner_number(), -10);
  ASSERT_TRUE(fields.next());
  EXPECT_THAT(fields.numbers(), ElementsAre(0, 3, -8));
  ASSERT_TRUE(fields.next());
  EXPECT_THAT(fields.texts(), ElementsAre("a", ""));
  EXPECT_FALSE(fields.next());
  EXPECT_TRUE(in.ok());
}

TEST(ThriftCompact, BytesAreThoseOfTheSpecification) {
  CompactWriter writer;
  writer.number32(1, 1).text(4, "ab").number64(20, -1);
  EXPECT_EQ(writer.finished(), std::string("\x15\x02\x38\x02"
                                           "ab\x06\x28\x01\x00",
                                           10));
}

TEST(ThriftCompact, FieldsThatNobodyAsksForAreSkipped) {
  // true, a double, a map of two pairs, a set of truth values, a struct with a false in it, and then the number 7.
  const std::string bytes(
      "\x11\x17\x01\x02\x03\x04\x05\x06\x07\x08\x1b\x02\x58\x02\x01x\x04\x01y\x1a\x21\x01\x02\x1c\x12\x00\x15\x0e\x00",
      29);
  Cursor in = compact_cursor(bytes);
  CompactFields fields(in);
  std::int64_t last = 0;
  while (fields.next())
    if (fields.id() == 6) last = fields.number();
  EXPECT_EQ(last, 7);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0U);
}

TEST(ThriftCompact, EveryPrefixEndsInAnErrorAndNotElsewhere) {
  CompactWriter inner;
  inner.text(1, "x");
  CompactWriter writer;
  writer.structures(1, {inner, inner, inner}).texts(2, {"long text"}).number64(3, 1 << 30);
  const std::string bytes = writer.finished();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    Cursor in = compact_cursor(cut);
    CompactFields fields(in);
    while (fields.next()) {
    }
    EXPECT_FALSE(in.ok()) << size;
  }
}

TEST(ThriftCompact, AListWithMoreElementsThanBytesIsDamage) {
  const std::string bytes("\x19\xfc\xff\xff\xff\xff\x0f\x00", 8);
  Cursor in = compact_cursor(bytes);
  CompactFields fields(in);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.structures(), 0U);
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace fathom::parquet
