#include "base/row_index.h"

#include <gtest/gtest.h>

#include <map>

namespace fathom {
namespace {

TEST(RowIndex, FindsEachRowByItsKeyAndAddsWhatIsNew) {
  std::vector<std::uint64_t> table;
  RowIndex index;
  const auto row_of = [&](std::uint64_t key) {
    const auto next = static_cast<std::uint32_t>(table.size());
    const std::uint32_t row = index.find_or_add(key, next, [&](std::uint32_t at) { return table[at]; });
    if (row == next) table.push_back(key);
    return row;
  };
  // Keys as they come: dense, equal in their low or in their high half, and again.
  std::map<std::uint64_t, std::uint32_t> known;
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < 3000; ++i) {
      for (const std::uint64_t key : {i, i << 32, i << 32 | i, ~i}) {
        const auto [at, added] = known.try_emplace(key, static_cast<std::uint32_t>(table.size()));
        EXPECT_EQ(row_of(key), at->second) << key;
      }
    }
  }
  EXPECT_EQ(table.size(), known.size());
}

// A table whose first rows are in no index, and rows that are soon too large for the bits that they had.
TEST(RowIndex, RowsMayBeginAnywhereAndSkip) {
  std::map<std::uint32_t, std::uint64_t> table;
  RowIndex index;
  const auto key_of = [&](std::uint32_t row) { return table.at(row); };
  for (std::uint64_t key = 0; key < 3000; ++key) {
    const auto row = static_cast<std::uint32_t>(7 + key * 1'000'003);
    ASSERT_EQ(index.find_or_add(key, row, key_of), row);
    table[row] = key;
  }
  for (const auto& [row, key] : table) ASSERT_EQ(index.find_or_add(key, 0, key_of), row);
}

}  // namespace
}  // namespace fathom
