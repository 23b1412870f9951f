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

}  // namespace
}  // namespace fathom
