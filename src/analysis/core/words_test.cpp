#include "analysis/core/words.h"

#include <gtest/gtest.h>

namespace fathom::analysis {
namespace {

TEST(Words, NumbersAreGroupedByThree) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(with_commas(-1000), "-1,000");
}

TEST(Words, AmountsFollowTheirUnit) {
  EXPECT_EQ(amount(12345, "samples"), "12,345 samples");
  EXPECT_EQ(amount(1, "samples"), "1 sample");
  EXPECT_EQ(amount(5, "cycles\x1b[2J"), "5 cycles?[2J") << "units of other tools' files are theirs";
  EXPECT_EQ(amount(1.5e9, "ns"), "1.50 s");
  EXPECT_EQ(amount(2.5e6, "ns"), "2.5 ms");
  EXPECT_EQ(amount(3.5 * 1024 * 1024, "bytes"), "3.5 MiB");
  EXPECT_EQ(amount(1e18, "cycles"), "1.000e+18 cycles");
}

TEST(Words, SharesHaveTheDigitsThatAreKnown) {
  EXPECT_EQ(percent_with_error(0.1234, 0.02), "12");
  EXPECT_EQ(percent_with_error(0.1234, 0.002), "12.3");
  EXPECT_EQ(percent_with_error(0.1234, 0), "12.3");
  EXPECT_EQ(percent_with_error(0.001234, 0.0001), "0.12");
  EXPECT_EQ(percent_with_error(0.0072, 0.009), "1");
  EXPECT_EQ(percent_with_error(0.0042, 0.009), "<1");
  EXPECT_EQ(percent_with_error(1, 0), "100.0");
}

TEST(Words, TimesAreNeverPowersOfTen) {
  EXPECT_EQ(seconds(0.9996), "1.00 s");
  EXPECT_EQ(seconds(0.0009996), "1 ms");
  EXPECT_EQ(seconds(0.0000009996), "1 us");
  EXPECT_EQ(seconds(0.9994), "999 ms");
  EXPECT_EQ(seconds(99.999), "100 s");
}

TEST(Words, OneByteIsOne) {
  EXPECT_EQ(bytes(1), "1 byte");
  EXPECT_EQ(bytes(0), "0 bytes");
  EXPECT_EQ(bytes(2), "2 bytes");
}

TEST(Words, SmallPercentagesKeepTwoDigits) {
  EXPECT_EQ(percent(0.5), "50.0 %");
  EXPECT_EQ(percent(0.0042), "0.42 %");
  EXPECT_EQ(percent(0), "0.0 %");
  EXPECT_EQ(percent(1), "100.0 %");
}

TEST(Words, OneIsSingular) {
  EXPECT_EQ(counted(1, "time"), "1 time");
  EXPECT_EQ(counted(2, "entry", "entries"), "2 entries");
}

TEST(Words, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(valid_utf8("caf\xc3\xa9"), "café");
  EXPECT_EQ(valid_utf8("a\xff z"), "a\xEF\xBF\xBD z");
  EXPECT_EQ(valid_utf8("\xc0\xaf"), "\xEF\xBF\xBD\xEF\xBF\xBD");          // overlong
  EXPECT_EQ(valid_utf8("\xed\xa0\x80").find("\xed"), std::string::npos);  // a surrogate
  EXPECT_EQ(valid_utf8("\xe2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");          // cut short
}

TEST(Words, ControlCharactersCannotReachTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\n"), "a?[31mb?");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31mb"),
            "a\xEF\xBF\xBD"
            "31mb")
      << "one character that begins a sequence";
  EXPECT_EQ(printable("\u202eevil \u2066x \u200f\u061c\u2028"), "\uFFFDevil \uFFFDx \uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(printable("\u00a0\u00e9\u2026\u203a\u2192"), "\u00a0\u00e9\u2026\u203a\u2192");
  EXPECT_EQ(printable_lines("a\nb\rc\n"), "a\nb?c\n");
}

}  // namespace
}  // namespace fathom::analysis
