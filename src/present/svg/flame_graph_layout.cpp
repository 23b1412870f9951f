#include "present/svg/flame_graph_layout.h"

#include <algorithm>

namespace fathom::present {

FlameLayout lay_out(const analysis::CallTree& tree, double width, double min_width) {
  using analysis::TreeNode;
  FlameLayout layout;
  if (tree.total <= 0) return layout;
  const double scale = width / static_cast<double>(tree.total);
  // How many frames each node stands for. Children come after their parents, so one pass from the back is
  // enough.
  std::vector<std::uint32_t> frames(tree.nodes.size(), 1);
  for (std::size_t i = tree.nodes.size(); i-- > 1;) frames[tree.nodes[i].parent] += frames[i];

  constexpr double kNotDrawn = -1;
  std::vector<double> x_of(tree.nodes.size(), kNotDrawn);
  x_of[0] = 0;
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    if (x_of[i] == kNotDrawn) continue;
    const TreeNode& node = tree.nodes[i];
    layout.boxes.push_back({i, 0, node.depth, x_of[i], static_cast<double>(node.total) * scale, node.total});
    layout.rows = std::max(layout.rows, node.depth + 1);
    double x = x_of[i];
    FlameBox joined{i, 0, node.depth + 1, 0, 0, 0};
    for (std::uint32_t child = tree.first_child(i); child != analysis::kNoNode;
         child = tree.nodes[child].next_sibling) {
      const double child_width = static_cast<double>(tree.nodes[child].total) * scale;
      if (child_width >= min_width && child_width > 0) {
        x_of[child] = x;
        x += child_width;
      } else {
        joined.hidden += frames[child];
        joined.value += std::max<std::int64_t>(tree.nodes[child].total, 0);
      }
    }
    if (joined.hidden == 0) continue;
    joined.x = x;
    joined.width = static_cast<double>(joined.value) * scale;
    layout.boxes.push_back(joined);
    layout.rows = std::max(layout.rows, joined.row + 1);
    layout.hidden_frames += joined.hidden;
    ++layout.hidden_boxes;
    layout.hidden_value += joined.value;
  }
  return layout;
}

}  // namespace fathom::present
