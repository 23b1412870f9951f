#include "base/text.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(Text, TheNameOfAPathIsItsLastPart) {
  EXPECT_EQ(base_name("/usr/bin/redis-server"), "redis-server");
  EXPECT_EQ(base_name("redis-server"), "redis-server");
  EXPECT_EQ(base_name("/dev/"), "/dev/");
  EXPECT_EQ(base_name(""), "");
}

TEST(Text, BlanksAtBothEndsGo) {
  EXPECT_EQ(trimmed(" \ta b\r"), "a b");
  EXPECT_EQ(trimmed(" \t\r"), "");
  EXPECT_EQ(trimmed("a\r", " \t"), "a\r");
}

TEST(Text, LinesAreTakenOffTheFront) {
  std::string_view text = "one\r\n\nthree";
  EXPECT_EQ(take_line(text), "one");
  EXPECT_EQ(take_line(text), "");
  EXPECT_EQ(take_line(text), "three");
  EXPECT_EQ(take_line(text), "");
  EXPECT_EQ(text, "");
}

// Each of the 256 bytes: letters and digits of other alphabets are none here.
TEST(Text, OnlyAsciiCounts) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_EQ(is_digit(c), std::string_view("0123456789").find(c) != std::string_view::npos) << byte;
    EXPECT_EQ(is_hex_digit(c), std::string_view("0123456789abcdefABCDEF").find(c) != std::string_view::npos)
        << byte;
    const std::string lower = lower_case({&c, 1});
    EXPECT_EQ(lower != std::string(1, c), byte >= 'A' && byte <= 'Z') << byte;
  }
}

}  // namespace
}  // namespace fathom
