#include "analysis/summary/call_rows.h"

#include <algorithm>
#include <cmath>

namespace fathom::analysis {
namespace {

std::vector<std::int64_t> frame_weights(const model::Profile& profile, const Selection& selection) {
  std::vector<std::int64_t> leaves(profile.stacks.size());
  for (const StackValue& row : stack_values(profile, selection)) leaves[row.stack.value] += row.value;
  return frame_weights_of(profile, leaves);
}

}  // namespace

CallRowsMaker::CallRowsMaker(const model::Profile& profile, const Selection& selection, const CallTree& tree,
                             double least_share)
    : tree_(tree),
      least_share_(least_share),
      fold_(least_share > 0),
      sources_(profile, frame_weights(profile, selection)) {}

CallRows CallRowsMaker::of_tree(TreeDirection direction) const {
  const bool top_down = direction == TreeDirection::kCallees;
  return rows_of(top_down ? MergedCalls::of(tree_, fold_) : MergedCalls::bottom_up(tree_, fold_), top_down);
}
CallRows CallRowsMaker::callers(const std::vector<char>& names) const {
  return rows_of(MergedCalls::callers(tree_, names, fold_), false);
}
CallRows CallRowsMaker::callees(const std::vector<char>& names) const {
  return rows_of(MergedCalls::callees(tree_, names, fold_), false);
}

CallRows CallRowsMaker::rows_of(const MergedCalls& calls, bool from_start) const {
  const MergedCalls::Node& root = calls.nodes()[0];
  TreeRowOptions options;
  options.least =
      std::max<std::int64_t>(1, std::llround(std::ceil(least_share_ * static_cast<double>(root.total))));
  options.fold = fold_;
  options.from_start = from_start;
  options.is_own = [this](std::uint32_t name, std::uint32_t module) {
    return sources_.is_own(tree_.modules[module].name, tree_.names[name]);
  };
  CallRows rows{root.self, root.total, {}};
  for (const TreeRow& row : tree_rows(calls, options)) {
    const MergedCalls::Node& call = calls.nodes()[row.node];
    const bool code =
        row.kind == TreeRowKind::kCall && (call.kind == NodeKind::kUser || call.kind == NodeKind::kInlined);
    rows.rows.push_back(
        {row, call,
         code ? sources_.place_of(tree_.modules[call.module].name, tree_.names[call.name]) : SourcePlace{},
         code && options.is_own(call.name, call.module)});
  }
  return rows;
}

}  // namespace fathom::analysis
