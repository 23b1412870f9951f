#include "cli/block_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::cli {
namespace {

using testing::HasSubstr;

TEST(ParseBytes, TakesTheUnitsThatPeopleType) {
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  for (const char* text : {"2g", "2G", "2GiB", "2048m", "2048M", "2048MiB", "2097152k", "2097152K"})
    EXPECT_EQ(parse_bytes(text), 2147483648u) << text;
  EXPECT_EQ(parse_bytes("1.5MiB"), 1572864u);
  EXPECT_EQ(parse_bytes("5GB"), 5'000'000'000u) << "a power of ten";
}

TEST(ParseBytes, RejectsWhatIsNoNumberOfBytes) {
  for (const char* text : {"", "g", "5gb", "5 g", "-1", "1e30", "nan", "5x"}) {
    const Result<std::uint64_t> parsed = parse_bytes(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr("is not a number of bytes"));
  }
}

}  // namespace
}  // namespace fathom::cli
