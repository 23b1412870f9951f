#include "formats/folded/parts.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

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

// Lines of few letters, so that many have empty parts.
TEST(FoldedParts, EveryLineIsCutAtItsSemicolons) {
  std::mt19937 random(1);
  Parts parts;
  for (int i = 0; i < 50'000; ++i) {
    std::string line;
    for (auto length = random() % 24; length-- > 0;) line += "aab;"[random() % 4];
    const std::vector<std::string> expected = split(line);
    parts.cut(line);
    ASSERT_EQ(parts.size(), expected.size()) << line;
    for (std::size_t at = 0; at < expected.size(); ++at) ASSERT_EQ(parts[at], expected[at]) << line;
    ASSERT_EQ(parts.between(0, expected.size()), line);
  }
}

// Each line begins as the one before it, up to anywhere.
TEST(FoldedParts, OnlyWhatDiffersFromTheLineBeforeIsCutAgain) {
  std::mt19937 random(2);
  Parts parts;
  std::string line, before;
  for (int i = 0; i < 50'000; ++i) {
    line.resize(line.empty() ? 0 : random() % (line.size() + 1));
    for (auto length = random() % 6; length-- > 0 && line.size() < 200;) line += "aab;"[random() % 4];
    parts.cut(line);
    const std::vector<std::string> expected = split(line), old = split(before);
    ASSERT_EQ(parts.size(), expected.size()) << line;
    for (std::size_t at = 0; at < expected.size(); ++at) ASSERT_EQ(parts[at], expected[at]) << line;
    std::size_t kept = 0;
    while (kept + 1 < std::min(expected.size(), old.size()) && expected[kept] == old[kept]) ++kept;
    ASSERT_EQ(parts.kept(), i == 0 ? 0 : kept) << before << " -> " << line;
    before = line;
  }
}

}  // namespace
}  // namespace fathom::formats
