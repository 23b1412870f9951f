// Call trees of several recordings as one, joined by names that survive builds (stable_name.h): every stack
// of any recording, with its value in each. A function is one place whether it was inlined or not; a frame
// that one side lacks stays, with no value there. The basis of every table and picture of a comparison, so
// that their sums agree.
//
// A run may consist of consecutive pieces of time: the spread of a function's values between them shows how
// reliable one run is. Values of nodes are kept by run, those of functions by piece.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/core/call_tree.h"
#include "model/profile.h"

namespace fathom::analysis {

inline constexpr std::uint32_t kNoPlace = UINT32_MAX;

// A function of a module, a thread's name, a cause of waits.
struct UnionPlace {
  std::uint32_t name = 0;           // row of UnionTree::names
  std::uint32_t module = 0;         // row of UnionTree::modules
  NodeKind kind = NodeKind::kUser;  // kInlined if it was inlined everywhere
  bool unmatched = false;           // stands for all code of its module without a common name
  bool by_code = false;  // of several builds, matched by its instructions; the name is from the first
};

struct UnionNode {
  std::uint32_t parent = 0;  // smaller than the node's own number
  std::uint32_t place = kNoPlace;
  std::uint32_t depth = 0;
  NodeKind kind = NodeKind::kUser;
};

struct UnionTree {
  std::vector<UnionNode> nodes;  // row 0: the root
  std::vector<UnionPlace> places;
  std::vector<std::string> names, modules;  // from the first recording that has it; module 0: none
  std::size_t runs = 0, pieces = 0;
  std::vector<std::int64_t> node_self;  // [node * runs + run]
  // [place * pieces + piece]; recursion counts once. A function's self value includes the waits of which it
  // is the leaf: their causes count them again.
  std::vector<std::int64_t> place_self, place_total;
  std::vector<std::int64_t> module_self;  // [module * pieces + piece]
  std::vector<std::int64_t> whole;        // [piece]
  std::vector<double> effective;          // [run]: CallTree::effective_samples of its pieces
  std::vector<std::uint64_t> samples;     // [run]
};

struct UnionRun {
  const model::Profile* profile = nullptr;
  TreeOptions options;              // with thread_roots and not reversed
  std::vector<std::uint64_t> cuts;  // between its pieces: ns from the start of the recording, ascending
  // By function: a hash of its code if it has no name, 0 if unknown; may be shorter than the table.
  std::span<const std::uint64_t> codes = {};
};

// The profiles are only needed during the call. All selections have the same metric. Time: a few ns per
// sample, one hash lookup per different (stack, thread) of a run, and one visit of each node per run.
UnionTree build_union_tree(const std::vector<UnionRun>& runs);

// A tree for drawing, siblings in name order: `self` is each node's self value, not negative. `origin`, by
// node of the result: the node of the union.
CallTree as_call_tree(const UnionTree& tree, const std::vector<std::int64_t>& self,
                      std::vector<std::uint32_t>& origin);

}  // namespace fathom::analysis
