// A run's values by stack and piece of time, in one pass over its samples: the basis of the union tree, which
// is built once per run and not once per piece.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/call_tree.h"
#include "model/profile.h"

namespace fathom::analysis {

struct PieceSums {
  struct Row {
    std::uint32_t root = 0;   // row of root_names
    std::uint32_t stack = 0;  // row of Profile::stacks
    std::uint32_t cause = 0;  // row of causes; 0: running
    std::uint32_t skip = 0;   // lines of the leaf frame to leave out, innermost first
    auto operator<=>(const Row&) const = default;
  };
  // The entries of one row and piece add up; all entries of a piece fit into 64 bits together.
  struct Entry {
    std::uint32_t row = 0, piece = 0;
    std::int64_t value = 0;
  };
  std::vector<Row> rows;  // in order
  std::vector<Entry> entries;
  std::vector<std::string> root_names, causes;
  double effective = 0;       // CallTree::effective_samples, summed over the pieces
  std::uint64_t samples = 0;  // CallTree::samples, summed over the pieces
};

// `cuts`: in ns from the start of the recording, ascending; times at or after the n-th and before the next
// belong to piece n + 1. The selection's own boundaries apply as well. Sums equal those of one tree per
// piece.
PieceSums add_up_pieces(const model::Profile& profile, const TreeOptions& options,
                        const std::vector<std::uint64_t>& cuts);

}  // namespace fathom::analysis
