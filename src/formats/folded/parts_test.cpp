#include "formats/folded/parts.h"

#include <gtest/gtest.h>

#include <random>

namespace fathom::formats {
namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> parts(1);
  for (const char c : line) {
    if (c == ';') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// Lines of few letters, so that many begin alike, end inside of one another or have empty parts.
TEST(FoldedParts, EveryLineIsCutAsIfItStoodAlone) {
  std::mt19937 random(1);
  Parts parts;
  std::vector<std::string> before;
  for (int i = 0; i < 200'000; ++i) {
    std::string line;
    for (auto length = random() % 24; length-- > 0;) line += "aab;"[random() % 4];
    const std::vector<std::string> expected = split(line);
    parts.cut(line);
    ASSERT_EQ(parts.size(), expected.size()) << line;
    for (std::size_t at = 0; at < expected.size(); ++at) ASSERT_EQ(parts[at], expected[at]) << line;
    ASSERT_EQ(parts.between(0, expected.size()), line);
    // What it calls equal is equal, and where it says so the first part too.
    ASSERT_LE(parts.equal(), std::min(before.size(), expected.size()));
    for (std::size_t at = 1; at < parts.equal(); ++at) ASSERT_EQ(before[at], expected[at]) << line;
    ASSERT_EQ(parts.first_is_equal(), !before.empty() && before[0] == expected[0]) << line;
    before = expected;
  }
}

TEST(FoldedParts, SeesThatStacksOfTwoThreadsBeginAlike) {
  Parts parts;
  parts.cut("worker-1;main;run;work");
  parts.cut("worker-2;main;run;wait");
  EXPECT_FALSE(parts.first_is_equal());
  EXPECT_EQ(parts.equal(), 3u);
}

}  // namespace
}  // namespace fathom::formats
