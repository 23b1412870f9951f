#include "base/word_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fathom {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for_each_word(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

TEST(WordRows, WordsStandBetweenBlanks) {
  EXPECT_THAT(words_of("read write"), ::testing::ElementsAre("read", "write"));
  EXPECT_THAT(words_of("  read   write "), ::testing::ElementsAre("read", "write"));
  EXPECT_THAT(words_of(""), ::testing::IsEmpty());
}

struct Named {
  std::string_view name;
  int legs;
};
constexpr WordRow<int> kLegs[] = {{4, "cat dog"}, {2, "hen"}, {0, ""}};

TEST(WordRows, EveryWordIsARowWithTheValueOfItsList) {
  constexpr auto kRows = each_word<Named, kLegs>();
  static_assert(kRows.size() == 3);
  EXPECT_EQ(kRows[1].name, "dog");
  EXPECT_EQ(kRows[1].legs, 4);
  EXPECT_EQ(kRows[2].name, "hen");
  EXPECT_EQ(kRows[2].legs, 2);
}

}  // namespace
}  // namespace fathom
