#include "present/callgraph/layered_layout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace fathom::present {
namespace {

std::vector<LayoutNode> boxes(std::size_t count, double width = 40, double height = 20) {
  return std::vector<LayoutNode>(count, {width, height});
}

TEST(LayeredLayout, EdgesLeadDownwards) {
  const LayeredLayout layout = lay_out(boxes(4), {{0, 1}, {1, 2}, {0, 2}, {3, 2}});
  EXPECT_LT(layout.centers[0].y, layout.centers[1].y);
  EXPECT_LT(layout.centers[1].y, layout.centers[2].y);
  EXPECT_EQ(layout.centers[3].y, layout.centers[1].y)
      << "what nothing calls stands right above what it calls";
}

TEST(LayeredLayout, AChainIsStraight) {
  const LayeredLayout layout = lay_out({{90, 20}, {40, 30}, {10, 20}}, {{0, 1}, {1, 2}});
  for (const LayoutPoint& center : layout.centers) EXPECT_NEAR(center.x, 45, 0.01);
  EXPECT_NEAR(layout.width, 90, 0.01);
}

// 0 calls 1 and 2, 1 calls 4 and 2 calls 3: drawn in the order of the rows, the last two calls would cross.
TEST(LayeredLayout, CallsDoNotCrossWhereTheyNeedNot) {
  const LayeredLayout layout = lay_out(boxes(5), {{0, 1}, {0, 2}, {1, 4}, {2, 3}});
  EXPECT_EQ(layout.centers[1].x < layout.centers[2].x, layout.centers[4].x < layout.centers[3].x);
}

TEST(LayeredLayout, TheLightestEdgeOfACycleLeadsUpwards) {
  const LayeredLayout layout = lay_out(boxes(3), {{0, 1, 5}, {1, 2, 5}, {2, 1, 1}});
  EXPECT_LT(layout.centers[1].y, layout.centers[2].y);
  EXPECT_GT(layout.routes[2].front().y, layout.routes[2].back().y);
}

TEST(LayeredLayout, AnEdgeToItsOwnNodeHasNoRoute) {
  const LayeredLayout layout = lay_out(boxes(1), {{0, 0}});
  EXPECT_TRUE(layout.routes[0].empty());
  EXPECT_EQ(layout.height, 20);
}

TEST(LayeredLayout, NothingIsAnEmptyPicture) {
  const LayeredLayout layout = lay_out({}, {});
  EXPECT_TRUE(layout.centers.empty());
  EXPECT_EQ(layout.width, 0);
}

// Any graph: boxes lie inside of the picture and do not overlap, and routes lead from box to box through pairs of points.
TEST(LayeredLayout, BoxesOfAnyGraphDoNotOverlap) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](unsigned limit) { return static_cast<std::uint32_t>(random() % limit); };
    std::vector<LayoutNode> nodes(1 + below(30));
    for (LayoutNode& node : nodes) node = {10.0 + below(200), 10.0 + below(40)};
    std::vector<LayoutEdge> edges(below(80));
    const auto count = static_cast<unsigned>(nodes.size());
    for (LayoutEdge& edge : edges) edge = {below(count), below(count), 0.01 + below(100)};
    const LayeredLayout layout = lay_out(nodes, edges);
    const auto left = [&](std::size_t i) { return layout.centers[i].x - nodes[i].width / 2; };
    const auto top = [&](std::size_t i) { return layout.centers[i].y - nodes[i].height / 2; };
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      EXPECT_GE(left(i), -0.01);
      EXPECT_GE(top(i), -0.01);
      EXPECT_LE(left(i) + nodes[i].width, layout.width + 0.01);
      EXPECT_LE(top(i) + nodes[i].height, layout.height + 0.01);
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_TRUE(left(i) >= left(j) + nodes[j].width - 0.01 ||
                    left(j) >= left(i) + nodes[i].width - 0.01 || top(i) >= top(j) + nodes[j].height ||
                    top(j) >= top(i) + nodes[i].height)
            << i << " on " << j;
    }
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (edges[i].from == edges[i].to) continue;
      const std::vector<LayoutPoint>& route = layout.routes[i];
      ASSERT_GE(route.size(), 2u);
      EXPECT_EQ(route.size() % 2, 0u);
      EXPECT_EQ(route.front().x, layout.centers[edges[i].from].x);
      EXPECT_EQ(route.back().x, layout.centers[edges[i].to].x);
    }
  }
}

}  // namespace
}  // namespace fathom::present
