#include "base/parse.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_number("12"), 12u);
  EXPECT_EQ(parse_number("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", " 12", "12 ", "+12", "12x", "x", "18446744073709551616"})
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
}

TEST(ParseNumber, AMinusSignIsForTypesThatHaveOne) {
  EXPECT_EQ(parse_number<int>("-3"), -3);
  EXPECT_EQ(parse_number("-3"), std::nullopt);
}

TEST(ParseNumber, AnotherBaseHasNoPrefix) {
  EXPECT_EQ(parse_number("ff", 16), 255u);
  EXPECT_EQ(parse_number("0xff", 16), std::nullopt);
}

TEST(ParseNumber, FractionsAreNumbersOfTypesThatHaveThem) {
  EXPECT_EQ(parse_number<double>("0.5"), 0.5);
  EXPECT_EQ(parse_number<double>("0.5s"), std::nullopt);
  EXPECT_EQ(parse_number("0.5"), std::nullopt);
}

TEST(TakeUntil, PartsStandBetweenSeparators) {
  std::string_view text = "a,,b";
  EXPECT_EQ(take_until(text, ','), "a");
  EXPECT_EQ(take_until(text, ','), "");
  EXPECT_EQ(text, "b");
  EXPECT_EQ(take_until(text, ','), "b");
  EXPECT_EQ(text, "");
  EXPECT_EQ(take_until(text, ','), "");
}

}  // namespace
}  // namespace fathom
