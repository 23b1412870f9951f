// Call trees of several recordings as one, joined by names that survive builds (stable_name.h): every stack that any of
// them has, with what it is worth in each. A function is one place whether it was inlined or not; a frame that is gone on
// one side stays, with nothing there. The base of every table and picture of a comparison, so that their sums agree.
//
// A run may come in pieces, side by side in time: how a function's values differ between them tells how far one run can
// be trusted. Values of nodes are kept by run, those of functions by piece.
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
  NodeKind kind = NodeKind::kUser;  // kInlined if it was inlined wherever it was seen
  bool unmatched = false;           // stands for all code of its module that has no name in common
  bool by_code = false;  // of several builds, and the same by its instructions; the name is of the first
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
  std::vector<std::string> names, modules;  // of the first recording that has it; module 0: none
  std::size_t runs = 0, pieces = 0;
  std::vector<std::int64_t> node_self;  // [node * runs + run]
  // [place * pieces + piece]; recursion counts once. A function's own are also the waits of which it is the leaf: their
  // causes have them once more.
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
  // By function: a hash of its code where it has no name, 0 where it is not known; may be shorter than the table.
  std::span<const std::uint64_t> codes = {};
};

// The profiles are needed during the call only. All selections have one metric. Time: a few ns per sample, one hash lookup
// per different (stack, thread) of a run, and a visit of each node per run.
UnionTree build_union_tree(const std::vector<UnionRun>& runs);

// A drawing's tree, siblings by name: `self` is what each node is worth by itself, not negative. `origin`, by node of the
// result, is the union's node.
CallTree as_call_tree(const UnionTree& tree, const std::vector<std::int64_t>& self,
                      std::vector<std::uint32_t>& origin);

}  // namespace fathom::analysis
