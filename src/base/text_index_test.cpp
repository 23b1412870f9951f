#include "base/text_index.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

namespace fathom {
namespace {

// Lengths around the eight bytes that are read at once, texts that differ in their first or last byte only, and zeros at the
// end, which a hash of whole words alone would not see.
TEST(TextIndex, TheSameTextHasTheSameNumberAndAnotherTextAnotherOne) {
  std::vector<std::string> texts{"", std::string(1, '\0'), std::string(2, '\0'), std::string(8, '\0'),
                                 std::string(9, '\0')};
  for (std::size_t length = 1; length < 40; ++length)
    for (const char other : {'b', '\0', '\xff'}) {
      std::string text(length, 'a');
      texts.push_back(text + other);
      texts.push_back(other + text);
    }
  for (int i = 0; i < 5000; ++i) texts.push_back("core::iter::" + std::to_string(i));
  std::map<std::string, std::uint32_t> known;
  TextIndex index;
  for (int round = 0; round < 2; ++round)
    for (const std::string& text : texts) {
      const auto [at, added] = known.try_emplace(text, static_cast<std::uint32_t>(known.size()));
      ASSERT_EQ(index.find(text), added ? std::nullopt : std::optional(at->second));
      ASSERT_EQ(index.number_of(text), at->second);
      ASSERT_EQ(index[at->second], text);
    }
  EXPECT_EQ(index.size(), known.size());
}

TEST(TextIndex, TextsThatDifferInOneBitHaveDifferentHashes) {
  std::set<std::uint64_t> hashes;
  std::string text(37, 'x');
  for (std::size_t at = 0; at < text.size() * 8; ++at) {
    std::string other = text;
    other[at / 8] = static_cast<char>(other[at / 8] ^ 1 << at % 8);
    hashes.insert(text_hash(other) & 0xffff'ffff);
  }
  EXPECT_EQ(hashes.size(), text.size() * 8);
}

}  // namespace
}  // namespace fathom
