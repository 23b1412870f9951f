#include "formats/import/lines.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace fathom::formats {
namespace {

TEST(Lines, AreTheSameWhereverTheTextIsCut) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (auto length = random() % 40; length-- > 0;) text += "ab\n"[random() % 3];
    std::vector<std::string> expected;
    std::size_t at = 0;
    for (std::size_t end; (end = text.find('\n', at)) != text.npos; at = end + 1)
      expected.push_back(text.substr(at, end - at));
    if (at < text.size()) expected.push_back(text.substr(at));
    std::vector<std::string> found;
    const auto visit = [&](std::string_view line) { found.emplace_back(line); };
    Lines lines;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t size = std::min<std::size_t>(rest.size(), random() % 7);
      lines.add(rest.substr(0, size), visit);
      rest.remove_prefix(size);
    }
    lines.finish(visit);
    ASSERT_EQ(found, expected) << text;
  }
}

}  // namespace
}  // namespace fathom::formats
