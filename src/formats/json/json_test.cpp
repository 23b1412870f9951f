#include "formats/json/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace fathom::formats {
namespace {

using testing::HasSubstr;

TEST(ForeignJson, WhatIsNotThereIsNothingAndNoCrash) {
  const Json value = parse_json(R"({"a": [1, "x"], "b": 2.5})", "x").value();
  EXPECT_EQ(length_of(member(value, "a")), 2u);
  EXPECT_EQ(length_of(member(value, "b")), 0u);
  EXPECT_EQ(text_of(element(member(value, "a"), 1)), "x");
  EXPECT_EQ(text_of(element(member(value, "a"), 7)), "");
  EXPECT_EQ(number_of(member(member(value, "b"), "c"), -1), -1);
  EXPECT_EQ(row_of(element(member(value, "a"), 0)), 1u);
  EXPECT_EQ(row_of(member(value, "b")), UINT64_MAX);
  EXPECT_EQ(line_of(element(member(value, "a"), 0), 1), 2u);
  EXPECT_EQ(line_of(parse_json("-5", "x").value()), 0u);
}

TEST(ForeignJson, IsKnownByAWordAmongTheFirst) {
  EXPECT_TRUE(is_json_with(" {\"nodes\": []}", "nodes"));
  EXPECT_FALSE(is_json_with("[\"nodes\"]", "nodes"));
  EXPECT_FALSE(is_json_with("nodes", "nodes"));
}

TEST(ForeignJson, DamageAndDepthAreSaid) {
  EXPECT_THAT(parse_json("{\"a\": [1,", "x.json").error().message,
              HasSubstr("x.json: JSON that is damaged or cut short at byte 10"));
  EXPECT_THAT(parse_json(std::string(30'000, '['), "x").error().message,
              HasSubstr("nested more than 20000 deep"));
  EXPECT_THAT(parse_json("[1e999]", "x").error().message, HasSubstr("too large"));
  EXPECT_TRUE(parse_json(std::string(9'000, '[') + std::string(9'000, ']'), "x"));
}

TEST(ForeignJson, FractionsAddUpToWholeParts) {
  WholeParts parts(1000);
  std::int64_t sum = 0, whole = 0;
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(parts.add(1.0 / 3000, whole));
    sum += whole;
  }
  EXPECT_EQ(sum, 1000);
  EXPECT_FALSE(parts.add(1e300, whole));
  EXPECT_FALSE(parts.add(std::numeric_limits<double>::quiet_NaN(), whole));
}

}  // namespace
}  // namespace fathom::formats
