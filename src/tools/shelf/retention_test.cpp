#include "tools/shelf/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace fathom::shelf {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Recording made(const std::string& program, std::uint64_t start, std::uint64_t bytes) {
  Recording row;
  row.program = program;
  row.start_unix_ns = start;
  row.bytes = bytes;
  return row;
}

std::vector<std::size_t> gone(const std::vector<Recording>& rows, const Retention& rule,
                              std::uint64_t now = 100) {
  std::vector<std::size_t> indexes;
  for (const Removal& removal : choose(rows, rule, now)) indexes.push_back(removal.recording);
  return indexes;
}

TEST(Retention, AgeIsCountedFromTheBeginning) {
  const std::vector<Recording> rows = {made("a", 10, 1), made("a", 49, 1), made("a", 50, 1),
                                       made("a", 99, 1)};
  EXPECT_THAT(gone(rows, {.older_than_ns = 50}), ElementsAre(0, 1));
}

// A file says itself when it began.
TEST(Retention, OneFromTheFutureIsNotOld) {
  EXPECT_THAT(gone({made("a", UINT64_MAX - 1, 1), made("a", 101, 1)}, {.older_than_ns = 50}), IsEmpty());
}

TEST(Retention, TheOldestGoUntilTheRestFits) {
  const std::vector<Recording> rows = {made("a", 1, 30), made("b", 2, 30), made("a", 3, 30)};
  EXPECT_THAT(gone(rows, {.most_bytes = 90}), IsEmpty());
  EXPECT_THAT(gone(rows, {.most_bytes = 89}), ElementsAre(0));
  EXPECT_THAT(gone(rows, {.most_bytes = 0}), ElementsAre(0, 1, 2));
}

TEST(Retention, TheNewestOfEachProgramStay) {
  const std::vector<Recording> rows = {made("a", 1, 1), made("b", 2, 1), made("a", 3, 1), made("a", 4, 1)};
  EXPECT_THAT(gone(rows, {.older_than_ns = 0, .keep = 1}), ElementsAre(0, 2));
  EXPECT_THAT(gone(rows, {.older_than_ns = 0, .keep = 2}), ElementsAre(0));
  EXPECT_THAT(gone(rows, {.older_than_ns = 0, .program = "b"}), ElementsAre(1));
}

TEST(Retention, ATagChooses) {
  std::vector<Recording> rows = {made("a", 1, 1), made("a", 2, 1)};
  rows[1].tags = {"v1", "try"};
  EXPECT_THAT(gone(rows, {.older_than_ns = 0, .tag = "try"}), ElementsAre(1));
  EXPECT_THAT(gone(rows, {.older_than_ns = 0, .tag = "tr"}), IsEmpty());
}

TEST(Retention, WhatIsWrittenOrNotUnderstoodStays) {
  std::vector<Recording> rows = {made("a", 1, 1), made("a", 2, 1)};
  rows[0].being_written = true;
  rows[1].problem = "damaged";
  EXPECT_THAT(gone(rows, {.older_than_ns = 0, .most_bytes = 0}), IsEmpty());
}

// Whatever the rule is: nothing goes twice, the newest `keep` stay, and the rest fits unless all that is left must stay.
TEST(Retention, HoldsForRandomFolders) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Recording> rows;
    std::uint64_t time = 0;
    for (std::uint64_t i = random() % 12; i > 0; --i)
      rows.push_back(made(random() % 2 ? "a" : "b", time += random() % 20, random() % 100));
    Retention rule;
    if (random() % 2) rule.older_than_ns = random() % 150;
    if (random() % 2) rule.most_bytes = random() % 500;
    rule.keep = random() % 3;
    const auto removed = gone(rows, rule, 200);
    const std::set<std::size_t> once(removed.begin(), removed.end());
    ASSERT_EQ(once.size(), removed.size());
    std::uint64_t left = 0;
    bool all_left_must_stay = true;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::size_t newer = 0;
      for (std::size_t k = i + 1; k < rows.size(); ++k) newer += rows[k].program == rows[i].program;
      if (newer < rule.keep) {
        ASSERT_FALSE(once.contains(i));
      }
      if (once.contains(i)) continue;
      left += rows[i].bytes;
      if (newer >= rule.keep) all_left_must_stay = false;
      if (rule.older_than_ns && newer >= rule.keep) {
        ASSERT_GE(rows[i].start_unix_ns + *rule.older_than_ns, 200u);
      }
    }
    if (rule.most_bytes) {
      ASSERT_TRUE(left <= *rule.most_bytes || all_left_must_stay);
    }
  }
}

}  // namespace
}  // namespace fathom::shelf
