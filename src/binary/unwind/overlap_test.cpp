#include "binary/unwind/overlap.h"

#include <gtest/gtest.h>

#include <random>

namespace fathom::unwind {
namespace {

std::vector<Piece> resolved(std::vector<Piece> pieces) {
  resolve_overlaps(pieces);
  return pieces;
}
using Pieces = std::vector<Piece>;

TEST(Overlap, DisjointPiecesAreOnlySorted) {
  EXPECT_EQ(resolved({{30, 40, 0}, {0, 10, 1}, {10, 20, 2}}), (Pieces{{0, 10, 1}, {10, 20, 2}, {30, 40, 0}}));
  EXPECT_TRUE(resolved({}).empty());
}

TEST(Overlap, InnerFunctionHoldsAndTheOuterOneGoesOnAfterIt) {
  EXPECT_EQ(resolved({{0, 100, 0}, {50, 60, 1}}), (Pieces{{0, 50, 0}, {50, 60, 1}, {60, 100, 0}}));
  EXPECT_EQ(resolved({{0, 100, 0}, {10, 90, 1}, {20, 30, 2}}),
            (Pieces{{0, 10, 0}, {10, 20, 1}, {20, 30, 2}, {30, 90, 1}, {90, 100, 0}}));
}

TEST(Overlap, LaterStartWinsWhereTwoCross) {
  EXPECT_EQ(resolved({{0, 50, 0}, {40, 80, 1}}), (Pieces{{0, 40, 0}, {40, 80, 1}}));
}

TEST(Overlap, OfTwoWithTheSameRangeTheFirstCounts) {
  EXPECT_EQ(resolved({{0, 50, 0}, {0, 50, 1}}), (Pieces{{0, 50, 0}}));
  EXPECT_EQ(resolved({{0, 50, 0}, {0, 20, 1}}), (Pieces{{0, 20, 1}, {20, 50, 0}}));
}

TEST(Overlap, EveryAddressBelongsToTheInnermostOfItsFunctions) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Pieces pieces;
    for (std::uint32_t i = 0; i < 12; ++i) {
      const std::uint64_t start = random() % 60;
      pieces.push_back({start, start + 1 + random() % 20, i});
    }
    const auto whole = pieces;
    resolve_overlaps(pieces);
    for (std::size_t i = 1; i < pieces.size(); ++i) ASSERT_LE(pieces[i - 1].end, pieces[i].start);
    for (std::uint64_t address = 0; address < 90; ++address) {
      const Piece* best = nullptr;
      for (const Piece& each : whole) {
        if (address < each.start || address >= each.end) continue;
        if (best == nullptr || each.start > best->start ||
            (each.start == best->start && each.end < best->end))
          best = &each;
      }
      const Piece* got = nullptr;
      for (const Piece& each : pieces)
        if (address >= each.start && address < each.end) got = &each;
      ASSERT_EQ(best == nullptr, got == nullptr) << address;
      if (best != nullptr) {
        ASSERT_EQ(best->function, got->function) << address;
      }
    }
  }
}

}  // namespace
}  // namespace fathom::unwind
