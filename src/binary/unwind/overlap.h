// Pieces of code, each described by one function's rows. Functions hardly ever overlap; if they do (a
// hand-written entry inside another one's range, .debug_frame next to .eh_frame), the one that starts later
// is more specific and applies to its own range, and the outer one continues after it.
#pragma once

#include <cstdint>
#include <vector>

namespace fathom::unwind {

struct Piece {
  std::uint64_t start, end;
  std::uint32_t function;  // index, chosen by the caller
  bool operator==(const Piece&) const = default;
};

void sort_by_start(std::vector<Piece>& pieces);

// Sorts by start. Takes whole functions and returns disjoint pieces. If two have the same range, the lower
// index wins.
void resolve_overlaps(std::vector<Piece>& pieces);

}  // namespace fathom::unwind
