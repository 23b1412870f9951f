// How deep stacks are, and what calls itself: what a reader of a flame graph looks for as tall towers.
#pragma once

#include <cstdint>

#include "analysis/core/call_tree.h"

namespace fathom::analysis {

struct DeepStacks {
  std::uint32_t deepest = 0;       // calls of the deepest stack, without the thread; inlined ones count
  std::uint32_t deepest_node = 0;  // its leaf; the root: there is none
  std::uint32_t usual = 0;         // half of what was measured has a stack of so many calls at most
  // The function that most of what was measured has more than once in its stack.
  std::uint32_t recursive_node = 0;  // a call of it inside of itself; the root: nothing calls itself
  std::uint32_t most_times = 0;      // in one stack
  std::int64_t recursive = 0;        // of the tree's total: has it more than once
};

// Costs one visit per node.
DeepStacks find_deep_stacks(const CallTree& tree);

}  // namespace fathom::analysis
