// Pieces of code, each described by one function's rows. Functions hardly ever overlap; where they do (a
// hand-written entry inside of another one's range, .debug_frame beside .eh_frame), the one that starts later
// is the more specific and holds for its own range, and the outer one goes on after it.
#pragma once

#include <cstdint>
#include <vector>

namespace fathom::unwind {

struct Piece {
  std::uint64_t start, end;
  std::uint32_t function;  // index, for whoever made the pieces
  bool operator==(const Piece&) const = default;
};

void sort_by_start(std::vector<Piece>& pieces);

// Sorts by start. Pieces come in as whole functions and go out disjoint. Of two with the same range, the
// lower index wins.
void resolve_overlaps(std::vector<Piece>& pieces);

}  // namespace fathom::unwind
