// The call tree of stacks whose frames are calls: one name per frame, and no two frames of one name. Text of other tools has such
// stacks, millions of them. Then every stack of a thread is one node, so none has to be searched: the tree is drawn node by node in
// its final order. All other trees are drafted first (call_tree.cpp), because frames have inlined calls, and a function has many
// addresses. For this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/core/call_tree.h"
#include "analysis/core/stack_sums.h"
#include "analysis/core/tree_places.h"

namespace fathom::analysis {

class PlainTree {
 public:
  // nullopt: it has to be drafted. Else `places` has all places of the tree.
  static std::optional<PlainTree> of(const model::Profile& profile, const TreeOptions& options,
                                     const StackSums& sums, Places& places);

  // Of the same `sums`, into a tree that has its names and modules; their stacks are of no use afterwards. false: it has to be
  // drafted nevertheless, as the table has equal stacks, and `sums` are as they were.
  bool draw(StackSums& sums, const std::vector<Place>& places, const std::vector<std::uint32_t>& name_rank,
            const std::vector<std::uint32_t>& module_rank, CallTree& tree) const;

 private:
  explicit PlainTree(const model::Profile& profile) : stacks_(&profile.stacks) {}

  const std::vector<model::Stack>* stacks_;
  std::vector<std::uint32_t> place_of_frame_;
  std::vector<std::uint32_t> place_of_root_;  // empty: stacks begin at the root of the tree
};

}  // namespace fathom::analysis
