#include "base/word_distance.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(WordDistance, CountsLettersThatDiffer) {
  EXPECT_EQ(word_distance("", ""), 0u);
  EXPECT_EQ(word_distance("", "abc"), 3u);
  EXPECT_EQ(word_distance("report", "report"), 0u);
  EXPECT_EQ(word_distance("report", "repirt"), 1u);
  EXPECT_EQ(word_distance("report", "repor"), 1u);
  EXPECT_EQ(word_distance("report", "repport"), 1u);
  EXPECT_EQ(word_distance("kitten", "sitting"), 3u);
}

TEST(WordDistance, CountsTransposedLettersOnce) {
  EXPECT_EQ(word_distance("report", "reoprt"), 1u);
  EXPECT_EQ(word_distance("ab", "ba"), 1u);
  EXPECT_EQ(word_distance("abcd", "badc"), 2u);
}

}  // namespace
}  // namespace fathom
