// A call tree with its smallest parts left out, so that a picture of any recording stays a file that a browser opens.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/core/call_tree.h"

namespace fathom::present {

struct BoundTree {
  // What was left out below a frame is one frame, its last child, of the same value: all sums are those of the whole tree.
  analysis::CallTree tree;
  const analysis::CallTree* whole = nullptr;  // outlives this
  std::vector<std::uint32_t> from;  // by node: the node that it was; of what was left out, that of its parent
  std::vector<bool> stands_for_children;  // by node: those of `from` whose total is less than `least`
  std::int64_t least = 0;
  std::uint64_t frames = 0;  // left out
  std::int64_t value = 0;    // ends in them
  std::int64_t largest = 0;  // the total of the largest of them
};

// Keeps the root and at most `most` other nodes, those with the largest totals; equal ones all or none.
BoundTree keep_largest(const analysis::CallTree& tree, std::size_t most);

}  // namespace fathom::present
