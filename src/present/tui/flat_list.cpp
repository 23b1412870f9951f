#include "present/tui/flat_list.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fathom::tui {

using analysis::CallTree;
using analysis::NodeKind;
using analysis::TreeNode;

std::vector<FlatRow> flat_rows(const CallTree& tree, FlatBy by, FlatSort sort) {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  const bool by_thread = by == FlatBy::kThreadAndFunction || by == FlatBy::kThread;
  const bool by_function = by == FlatBy::kFunction || by == FlatBy::kThreadAndFunction;
  std::vector<FlatRow> rows;
  std::vector<std::uint32_t> open;         // per row: how often it stands on the path to the present node
  std::vector<std::uint32_t> path{kNone};  // rows by depth
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> ids;
  std::uint32_t thread = 0;
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    for (; path.size() > node.depth; path.pop_back())
      if (path.back() != kNone) --open[path.back()];
    if (node.kind == NodeKind::kThread) {
      thread = node.name;
      if (by != FlatBy::kThread) {
        path.push_back(kNone);
        continue;
      }
    }
    const bool has_module = by != FlatBy::kThread;
    const auto [id, is_new] = ids.try_emplace(
        {by_thread ? thread + 1 : 0, by_function ? node.name + 1 : 0, has_module ? node.module + 1 : 0},
        static_cast<std::uint32_t>(rows.size()));
    if (is_new) {
      rows.push_back({by_thread ? thread : 0, by_function ? node.name : 0u, has_module ? node.module : 0u,
                      node.kind, 0, 0});
      open.push_back(0);
    }
    FlatRow& row = rows[id->second];
    if (node.kind == NodeKind::kUser) row.kind = NodeKind::kUser;
    row.self += node.self;
    if (open[id->second]++ == 0) row.total += node.total;
    path.push_back(id->second);
  }
  std::sort(rows.begin(), rows.end(), [&](const FlatRow& a, const FlatRow& b) {
    const auto key = [&](const FlatRow& row) {
      const std::int64_t first = sort == FlatSort::kSelf    ? -row.self
                                 : sort == FlatSort::kTotal ? -row.total
                                                            : 0;
      const std::int64_t second = sort == FlatSort::kSelf    ? -row.total
                                  : sort == FlatSort::kTotal ? -row.self
                                                             : 0;
      return std::tuple(first, second, row.name, row.module, row.thread);
    };
    return key(a) < key(b);
  });
  return rows;
}

}  // namespace fathom::tui
