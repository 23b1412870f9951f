// Rows of call trees with extra facts for the reader: where each function is, and whether it is own code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/source_facts.h"
#include "analysis/core/tree_view.h"

namespace fathom::analysis {

enum class TreeDirection : std::uint8_t {
  kCallees,  // from the root on
  kCallers,  // from where the weight is to who called
};

struct CallRow {
  TreeRow row;
  MergedCalls::Node call;
  SourcePlace place;
  bool own = false;
};

struct CallRows {
  std::int64_t self = 0, total = 0;  // of the root
  std::vector<CallRow> rows;
};

// Of one tree, made of `selection`; both outlive it.
class CallRowsMaker {
 public:
  // `least_share`: of the root's total; calls of less are left out. 0: every call, nothing folded.
  CallRowsMaker(const model::Profile& profile, const Selection& selection, const CallTree& tree,
                double least_share);
  CallRows of_tree(TreeDirection direction) const;
  CallRows callers(const std::vector<char>& names) const;
  CallRows callees(const std::vector<char>& names) const;

 private:
  CallRows rows_of(const MergedCalls& calls, bool from_start) const;

  const CallTree& tree_;
  double least_share_;
  bool fold_;
  SourceFacts sources_;
};

}  // namespace fathom::analysis
