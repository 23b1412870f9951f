#include "base/stable_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

namespace fathom {
namespace {

struct Pair {
  int key, place;
  bool operator==(const Pair&) const = default;
};

TEST(StableSort, RowsStandAsTheStandardLibraryPutsThem) {
  std::mt19937 random(1);
  for (int count = 0; count < 200; ++count) {
    std::vector<Pair> rows;
    for (int i = 0; i < count; ++i) rows.push_back({static_cast<int>(random() % 10), i});
    std::vector<Pair> expected = rows;
    std::ranges::stable_sort(expected, {}, &Pair::key);
    std::vector<Pair> by_iterators = rows;
    stable_sort_rows(by_iterators.begin(), by_iterators.end(),
                     [](const Pair& a, const Pair& b) { return a.key < b.key; });
    EXPECT_EQ(by_iterators, expected);
    stable_sort_rows(rows, {}, &Pair::key);
    EXPECT_EQ(rows, expected);
  }
}

TEST(StableSort, LargestFirstWithGreater) {
  std::vector<Pair> rows{{1, 0}, {3, 1}, {2, 2}, {3, 3}};
  stable_sort_rows(rows, std::greater<>(), &Pair::key);
  EXPECT_EQ(rows, (std::vector<Pair>{{3, 1}, {3, 3}, {2, 2}, {1, 0}}));
}

TEST(StableSort, APartOfTheRowsLeavesTheOthers) {
  std::vector<std::string> words{"d", "c", "b", "a"};
  stable_sort_rows(words.begin() + 1, words.end());
  EXPECT_EQ(words, (std::vector<std::string>{"d", "a", "b", "c"}));
}

TEST(StableSort, RowsThatCannotBeCopiedMove) {
  std::vector<std::unique_ptr<int>> rows;
  for (const int value : {3, 1, 2}) rows.push_back(std::make_unique<int>(value));
  stable_sort_rows(rows, {}, [](const std::unique_ptr<int>& each) { return *each; });
  EXPECT_EQ(*rows[0], 1);
  EXPECT_EQ(*rows[1], 2);
  EXPECT_EQ(*rows[2], 3);
}

}  // namespace
}  // namespace fathom
