#include "cli/number_word.h"

#include <gtest/gtest.h>

namespace fathom::cli {
namespace {

// What an option makes of a text; "refused" with the reason behind it.
std::string read_as(const CLI::Validator& check, std::string text) {
  const std::string problem = check(text);
  return problem.empty() ? text : "refused: " + problem;
}

TEST(SizeWord, UnitsArePowersOf1024) {
  for (const auto& [text, bytes] : std::vector<std::pair<std::string, std::string>>{{"4096", "4096"},
                                                                                    {"0", "0"},
                                                                                    {"500m", "524288000"},
                                                                                    {"4G", "4294967296"},
                                                                                    {"64 KiB", "65536"},
                                                                                    {"2kb", "2048"},
                                                                                    {"1.5g", "1610612736"},
                                                                                    {"1t", "1099511627776"},
                                                                                    {"010", "10"}})
    EXPECT_EQ(read_as(size_word(), text), bytes) << text;
}

TEST(SizeWord, WhatIsNoSizeIsRefused) {
  EXPECT_EQ(read_as(size_word(), ""), "refused: is empty");
  for (const char* text : {"-5", "-5g", "-0", "g", "abc", "5x", "nan", "inf", "1e99", "0x10", "--", " 5",
                           "99999999999999999999", "99999999999g", "5 5"})
    EXPECT_EQ(read_as(size_word(), text), "refused: expected a size such as 500m or 4g") << text;
  EXPECT_EQ(read_as(size_word(SizeZero::kRefused), "0"),
            "refused: expected a size above 0, such as 500m or 4g");
  EXPECT_EQ(read_as(size_word(SizeZero::kRefused), "1"), "1");
}

TEST(NumberBetween, IsNoNan) {
  EXPECT_EQ(read_as(number_between(0, 100), "99.5"), "99.5");
  EXPECT_EQ(read_as(number_between(0, 100), "0"), "0");
  for (const char* text : {"", "nan", "inf", "-1", "100.1", "1e99", "5x", "abc"})
    EXPECT_EQ(read_as(number_between(0, 100), text),
              "refused: Value " + std::string(text) + " not in range 0 to 100");
}

TEST(WholeNumber, IsDigitsAlone) {
  EXPECT_EQ(read_as(whole_number(), "0"), "0");
  EXPECT_EQ(read_as(whole_number(), "010"), "10") << "no octal number";
  EXPECT_EQ(read_as(whole_number(1), "1"), "1");
  EXPECT_EQ(read_as(whole_number(), ""), "refused: is empty");
  for (const char* text : {"-1", "+1", "1.5", "1e3", "abc", "0x10", "99999999999999999999", "5 "})
    EXPECT_EQ(read_as(whole_number(), text), "refused: expected a number of 0 or more") << text;
  EXPECT_EQ(read_as(whole_number(1), "0"), "refused: expected a number of 1 or more");
}

}  // namespace
}  // namespace fathom::cli
