// A call tree as a person reads it: the calls that weigh something, the largest first, chains that only hand on folded
// into a row. Also of the callers and the callees of one function. Rows and numbers; present/ writes them down.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/core/call_tree.h"
#include "base/flat_map.h"

namespace fathom::analysis {

// From the leaf up, each node that weighs something has a chain of its own: a recording made to harm asks for chains
// without end in a few bytes.
struct MergeLimits {
  std::size_t nodes = 16'000'000;
  std::uint64_t steps = 1'000'000'000;
};

// Calls merged by name and module, in no order. Node 0 is the root. std::length_error beyond the limits, as of a call
// tree that is too large.
class MergedCalls {
 public:
  struct Node {
    std::uint32_t parent = 0, first_child = kNoNode, next_sibling = kNoNode;
    std::uint32_t name = 0, module = 0;  // rows of the tree's tables
    NodeKind kind = NodeKind::kRoot;
    std::uint32_t deep = 1;  // so often on top of itself: such calls are one node
    std::int64_t self = 0, total = 0;
  };
  // Of the whole tree. `fold_recursion`: a function that calls itself is one node.
  static MergedCalls of(const CallTree& tree, bool fold_recursion);
  // From where the weight is to who called: the children of the root are functions by what they cost themselves.
  static MergedCalls bottom_up(const CallTree& tree, bool fold_recursion, const MergeLimits& limits = {});
  // The callers, outermost last, or the callees of the functions whose rows of `names` are not 0. Under
  // recursion that of the outermost call; the root stands for the function, its total being what Neighbours
  // has as total.
  static MergedCalls callers(const CallTree& tree, const std::vector<char>& names, bool fold_recursion,
                             const MergeLimits& limits = {});
  static MergedCalls callees(const CallTree& tree, const std::vector<char>& names, bool fold_recursion);

  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  explicit MergedCalls(const MergeLimits& limits = {}) : limits_(limits) { nodes_.push_back({}); }
  std::uint32_t child(std::uint32_t parent, const TreeNode& like);
  void add_below(const CallTree& tree, std::uint32_t top, bool fold_recursion);
  void add_above(const CallTree& tree, std::uint32_t from, std::int64_t value, bool fold_recursion);

  MergeLimits limits_;
  std::uint64_t steps_ = 0;
  std::vector<Node> nodes_;
  FlatMap<std::uint32_t> places_;    // by name and module; number + 1
  FlatMap<std::uint32_t> children_;  // by parent and place; never 0
};

enum class TreeRowKind : std::uint8_t {
  kCall,
  kChain,  // `count` calls one below the other that only hand on
  kRest,   // `count` calls side by side, each below the limit, that weigh something together
};
struct TreeRow {
  TreeRowKind kind = TreeRowKind::kCall;
  std::uint32_t node = 0;   // of MergedCalls; of a chain the outermost; of a rest the caller
  std::uint32_t depth = 0;  // how many rows stand above it, up to the root
  bool last = true;         // no sibling follows
  std::uint32_t count = 0;
  std::int64_t self = 0, total = 0;
  std::vector<std::uint32_t> names = {};  // of a chain: its most frequent functions
};

struct TreeRowOptions {
  std::int64_t least = 1;  // calls of a smaller total are left out
  bool fold = true;        // chains into a row
  bool from_start = true;  // the outermost calls are how the program was started, which is no news
  // The program's own code, which stays where a chain is folded; by rows of the tree's names and
  // modules.
  std::function<bool(std::uint32_t, std::uint32_t)> is_own = {};
};

// Depth first, of siblings the largest first. The root has no row, nor has the only thread.
std::vector<TreeRow> tree_rows(const MergedCalls& calls, const TreeRowOptions& options);

}  // namespace fathom::analysis
