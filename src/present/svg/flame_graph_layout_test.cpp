#include "present/svg/flame_graph_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "present/svg/flame_graph_testing.h"

namespace fathom::present {
namespace {

analysis::CallTree random_tree(unsigned seed, int stacks) {
  std::mt19937 random(seed);
  Folded folded;
  for (int i = 0; i < stacks; ++i) {
    std::string stack = "t" + std::to_string(random() % 3);
    for (unsigned depth = random() % 12; depth > 0; --depth) stack += ";f" + std::to_string(random() % 6);
    folded.push_back({stack, 1 + random() % 50});
  }
  return tree_of(folded);
}

TEST(FlameGraphLayout, WidthIsTheShareOfTheRoot) {
  const FlameLayout layout = lay_out(tree_of({{"t;main;a", 30}, {"t;main;b", 10}}), 400, 0);
  ASSERT_EQ(layout.boxes.size(), 5u);
  EXPECT_EQ(layout.rows, 4u);
  EXPECT_EQ(layout.boxes[3].x, 0);
  EXPECT_EQ(layout.boxes[3].width, 300);
  EXPECT_EQ(layout.boxes[4].x, 300);
  EXPECT_EQ(layout.boxes[4].width, 100);
  EXPECT_EQ(layout.hidden_frames, 0u);
}

TEST(FlameGraphLayout, NarrowFramesOfOneParentAreOneBoxThatCountsThem) {
  const FlameLayout layout = lay_out(tree_of({{"t;a;x;y", 1}, {"t;b", 97}, {"t;c", 1}, {"t;d", 1}}), 100, 2);
  ASSERT_EQ(layout.boxes.size(), 4u);  // all, t, b, and what is joined
  const FlameBox& joined = layout.boxes[2];
  EXPECT_EQ(joined.hidden, 5u) << "a, x, y, c and d";
  EXPECT_EQ(joined.value, 3);
  EXPECT_EQ(joined.x, 97) << "behind the frames that are drawn";
  EXPECT_EQ(layout.hidden_frames, 5u);
  EXPECT_EQ(layout.hidden_boxes, 1u);
}

TEST(FlameGraphLayout, NothingVanishes) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const analysis::CallTree tree = random_tree(seed, 200);
    for (const double min_width : {0.0, 0.5, 3.0, 40.0}) {
      const FlameLayout layout = lay_out(tree, 1000, min_width);
      std::uint64_t frames = 0;
      std::vector<std::vector<FlameBox>> rows(layout.rows);
      std::vector<double> above(tree.nodes.size(), 0);
      for (const FlameBox& box : layout.boxes) {
        frames += box.hidden > 0 ? box.hidden : 1;
        rows[box.row].push_back(box);
        above[box.hidden > 0 ? box.node : tree.nodes[box.node].parent] +=
            box.hidden > 0 || box.node != 0 ? box.width : 0;
      }
      EXPECT_EQ(frames, tree.nodes.size()) << "seed " << seed << ", least width " << min_width;
      for (std::vector<FlameBox>& row : rows) {
        std::sort(row.begin(), row.end(), [](const FlameBox& a, const FlameBox& b) { return a.x < b.x; });
        double end = 0;
        for (const FlameBox& box : row) {
          EXPECT_GE(box.x, end - 1e-6) << "boxes overlap; seed " << seed;
          end = box.x + box.width;
        }
        EXPECT_LE(end, 1000 + 1e-6);
      }
      for (const FlameBox& box : layout.boxes) {
        if (box.hidden > 0) continue;
        const analysis::TreeNode& node = tree.nodes[box.node];
        const double children =
            box.width * static_cast<double>(node.total - node.self) / static_cast<double>(node.total);
        EXPECT_NEAR(above[box.node], children, 1e-6) << "callees and self add up; seed " << seed;
      }
    }
  }
}

TEST(FlameGraphLayout, AnEmptyTreeHasNoBoxes) {
  EXPECT_TRUE(lay_out(tree_of({}), 100, 1).boxes.empty());
}

}  // namespace
}  // namespace fathom::present
