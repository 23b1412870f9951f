#include "record/heap/mapping_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace fathom::sources::heap {
namespace {

using Change = MappingBook::Change;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kBookPage = 4096;

class Book : public testing::Test {
 protected:
  std::vector<Change> call(std::int32_t number, std::uint64_t address, std::uint64_t length,
                           std::uint64_t argument, std::uint64_t result, bool anonymous = true) {
    std::vector<Change> changes;
    ++now_;
    book_.on({now_, 1, 7, 100 + now_, number, anonymous, address, length, argument, result}, changes);
    return changes;
  }
  std::vector<Change> map(std::uint64_t at, std::uint64_t length, bool anonymous = true) {
    return call(9, 0, length, 0, at, anonymous);
  }
  std::vector<Change> unmap(std::uint64_t at, std::uint64_t length) { return call(11, at, length, 0, 0); }

  MappingBook book_;
  std::uint64_t now_ = 0;
};

TEST_F(Book, TakesWholePagesAndGivesThemBack) {
  EXPECT_THAT(map(0x10000, 5000), ElementsAre(Change{1, 101, 7, true, 2 * kBookPage, true, 0}));
  EXPECT_THAT(unmap(0x10000, 8192), ElementsAre(Change{2, 101, 7, false, 2 * kBookPage, true, 1}));
  EXPECT_EQ(book_.pieces(), 0u);
}

TEST_F(Book, APartGivenBackLeavesTheRestToTheCallThatTookIt) {
  map(0x10000, 10 * kBookPage);
  EXPECT_THAT(unmap(0x12000, 3 * kBookPage), ElementsAre(Change{2, 101, 7, false, 3 * kBookPage, false, 1}));
  EXPECT_EQ(book_.pieces(), 2u);
  EXPECT_THAT(unmap(0x10000, 10 * kBookPage), ElementsAre(Change{3, 101, 7, false, 2 * kBookPage, false, 2},
                                                          Change{3, 101, 7, false, 5 * kBookPage, true, 2}));
}

TEST_F(Book, WhatIsMappedOverAnotherReplacesIt) {
  map(0x10000, 4 * kBookPage);
  EXPECT_THAT(map(0x11000, kBookPage), ElementsAre(Change{2, 101, 7, false, kBookPage, false, 1},
                                                   Change{2, 102, 7, true, kBookPage, true, 0}));
  EXPECT_THAT(
      map(0x10000, 4 * kBookPage, false),  // a file
      ElementsAre(Change{3, 101, 7, false, kBookPage, false, 2}, Change{3, 102, 7, false, kBookPage, true, 1},
                  Change{3, 101, 7, false, 2 * kBookPage, true, 2}));
}

TEST_F(Book, MappingsOfFilesAreNotTaken) {
  EXPECT_THAT(map(0x10000, kBookPage, false), IsEmpty());
  EXPECT_THAT(unmap(0x10000, kBookPage), IsEmpty());
}

TEST_F(Book, WhatWasThereBeforeIsNotKnown) {
  EXPECT_THAT(unmap(0x50000, 100 * kBookPage), IsEmpty());
  EXPECT_THAT(call(25, 0x50000, kBookPage, 9 * kBookPage, 0x50000), IsEmpty());
}

TEST_F(Book, GrowingTakesTheDifferenceAtItsOwnSite) {
  map(0x10000, 2 * kBookPage);
  EXPECT_THAT(call(25, 0x10000, 2 * kBookPage, 5 * kBookPage, 0x90000),
              ElementsAre(Change{2, 102, 7, true, 3 * kBookPage, true, 0}));
  EXPECT_THAT(unmap(0x10000, 2 * kBookPage), IsEmpty());  // it has moved
  EXPECT_THAT(unmap(0x90000, 5 * kBookPage), ElementsAre(Change{4, 101, 7, false, 2 * kBookPage, true, 3},
                                                         Change{4, 102, 7, false, 3 * kBookPage, true, 2}));
}

TEST_F(Book, ShrinkingGivesTheEndBack) {
  map(0x10000, 5 * kBookPage);
  EXPECT_THAT(call(25, 0x10000, 5 * kBookPage, 2 * kBookPage, 0x10000),
              ElementsAre(Change{2, 101, 7, false, 3 * kBookPage, false, 1}));
}

TEST_F(Book, TheBreakIsKnownFromItsFirstCallOn) {
  EXPECT_THAT(call(12, 0, 0, 0, 0x100000), IsEmpty());
  EXPECT_THAT(call(12, 0x121000, 0, 0, 0x121000), ElementsAre(Change{2, 102, 7, true, 0x21000, true, 0}));
  EXPECT_THAT(call(12, 0x111000, 0, 0, 0x111000), ElementsAre(Change{3, 102, 7, false, 0x10000, false, 1}));
}

TEST_F(Book, LengthsAtTheEndOfAllAddressesDoNotWrapAround) {
  map(0x7ffffffff000, kBookPage);
  EXPECT_THAT(unmap(0x10000, UINT64_MAX), testing::SizeIs(1));
  EXPECT_THAT(map(UINT64_MAX - 10, UINT64_MAX), testing::SizeIs(testing::Le(1u)));
}

// Against the set of all pages, for random calls in a small address space.
TEST_F(Book, AgreesWithASetOfPages) {
  std::mt19937 random(1);
  std::set<std::uint64_t> pages;
  std::int64_t bytes = 0;
  const auto erase = [&](std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t page = first; page < first + count; ++page) pages.erase(page);
  };
  for (int round = 0; round < 20'000; ++round) {
    const std::uint64_t first = random() % 64, count = 1 + random() % 16, to = random() % 64;
    std::vector<Change> changes;
    switch (random() % 4) {
      case 0: {
        const bool anonymous = random() % 4 != 0;
        changes = map(first * kBookPage, count * kBookPage, anonymous);
        erase(first, count);
        for (std::uint64_t page = first; anonymous && page < first + count; ++page) pages.insert(page);
        break;
      }
      case 3: {
        const std::uint64_t length = 1 + random() % 16, kept = std::min(count, length);
        if (to != first && to < first + count && first < to + length) continue;  // the kernel refuses
        const bool known = pages.contains(first);
        changes = call(25, first * kBookPage, count * kBookPage, length * kBookPage, to * kBookPage);
        std::set<std::uint64_t> moved;
        for (std::uint64_t i = 0; i < kept; ++i) {
          if (pages.contains(first + i)) moved.insert(to + i);
        }
        erase(first, count);
        erase(to, to == first ? 0 : length);
        pages.insert(moved.begin(), moved.end());
        // Growing in place over memory not known to be free does not happen: the kernel would move it.
        for (std::uint64_t i = count; known && i < length; ++i) pages.insert(to + i);
        break;
      }
      default:
        changes = unmap(first * kBookPage, count * kBookPage);
        erase(first, count);
    }
    for (const Change& change : changes)
      bytes += static_cast<std::int64_t>(change.bytes) * (change.taken ? 1 : -1);
    ASSERT_EQ(bytes, static_cast<std::int64_t>(pages.size() * kBookPage)) << "round " << round;
  }
}

}  // namespace
}  // namespace fathom::sources::heap
