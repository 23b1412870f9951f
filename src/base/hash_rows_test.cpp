#include "base/hash_rows.h"

#include <gtest/gtest.h>

#include <map>

#include "base/row_index.h"

namespace fathom {
namespace {

TEST(HashRows, FindsEachRowByItsHashAndNoOther) {
  HashRows rows;
  EXPECT_EQ(rows.find(0), std::nullopt);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const std::uint64_t hash = mixed(i);
    ASSERT_EQ(rows.find(hash), std::nullopt);
    rows.prefetch(hash);
    rows.add(hash);
    ASSERT_EQ(rows.find(hash), std::optional(static_cast<std::uint32_t>(i)));
  }
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    ASSERT_EQ(rows.find(mixed(i)), std::optional(i));
    ASSERT_EQ(rows.hash(i), mixed(i));
  }
  rows.clear();
  EXPECT_EQ(rows.size(), 0u);
  EXPECT_EQ(rows.find(mixed(1)), std::nullopt);
}

// They share a place, and some of them the bits that a place keeps.
TEST(HashRows, HashesThatBeginOrEndAlikeAreDifferentRows) {
  HashRows rows;
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t i = 0; i < 200; ++i)
    hashes.insert(hashes.end(), {i << 56 | 7, i << 32 | 7, i << 20 | 7, ~i, i});
  std::map<std::uint64_t, std::uint32_t> known;
  for (const std::uint64_t hash : hashes) {
    const auto found = rows.find(hash);
    const auto [at, added] = known.try_emplace(hash, rows.size());
    ASSERT_EQ(found, added ? std::nullopt : std::optional(at->second));
    if (added) rows.add(hash);
  }
  for (const auto& [hash, row] : known) ASSERT_EQ(rows.find(hash), std::optional(row));
}

}  // namespace
}  // namespace fathom
