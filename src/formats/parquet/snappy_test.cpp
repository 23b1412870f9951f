#include "formats/parquet/snappy.h"

#include <gtest/gtest.h>

namespace fathom::parquet {
namespace {

// "abcd", then 12 bytes that repeat it, then "e": a literal, a copy of 11 and one of 1, and a literal.
const std::string kPacked(
    "\x11\x0c"
    "abcd\x1d\x04\x02\x04\x00\x00"
    "e",
    13);

TEST(Snappy, LiteralsAndCopiesThatOverlapThemselves) {
  EXPECT_EQ(unpack_snappy(kPacked, 17).value_or("damaged"), "abcdabcdabcdabcde");
}

TEST(Snappy, LongLiteralsHaveTheirLengthAfterTheTag) {
  const std::string text(300, 'x');
  std::string packed("\xac\x02\xf4\x2b\x01", 5);
  packed += text;
  EXPECT_EQ(unpack_snappy(packed, 300).value_or("damaged"), text);
}

TEST(Snappy, DamageIsNothing) {
  EXPECT_FALSE(unpack_snappy(kPacked, 18));
  EXPECT_FALSE(unpack_snappy("", 17));
  for (std::size_t size = 0; size < kPacked.size(); ++size)
    EXPECT_FALSE(unpack_snappy(kPacked.substr(0, size), 17)) << size;
  // A copy of what was never written, of nothing, and of more than there is room for.
  EXPECT_FALSE(unpack_snappy(std::string("\x08\x00"
                                         "a\x0d\x09",
                                         5),
                             8));
  EXPECT_FALSE(unpack_snappy(std::string("\x08\x00"
                                         "a\x0d\x00",
                                         5),
                             8));
  EXPECT_FALSE(unpack_snappy(std::string("\x03\x00"
                                         "a\x0d\x01",
                                         5),
                             3));
}

}  // namespace
}  // namespace fathom::parquet
