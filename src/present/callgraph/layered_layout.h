// Places for the nodes and edges of a directed graph that is drawn in layers, from top to bottom: edges lead downwards as far as
// the graph has no cycles, cross each other seldom, and are nearly straight. The method is that of Sugiyama, Tagawa and Toda
// (1981): break cycles, assign layers, order each layer by its neighbours, then choose x with the least squared distance to them.
// Pure: the same graph always gets the same drawing. Lengths have any one unit.
#pragma once

#include <cstdint>
#include <vector>

namespace fathom::present {

struct LayoutNode {
  double width = 0, height = 0;
};
struct LayoutEdge {
  std::uint32_t from = 0, to = 0;  // rows of the nodes
  double weight = 1;  // heavier edges are straighter, and lead downwards if a cycle has to be broken
};
struct LayoutGaps {
  double beside = 16;  // between neighbours of a layer
  double below = 48;   // between layers
};
struct LayoutPoint {
  double x = 0, y = 0;
};
struct LayeredLayout {
  std::vector<LayoutPoint> centers;  // by node
  // By edge: points in pairs, each pair from the border of a layer to that of the next one; between pairs the edge passes a layer
  // vertically. Empty for an edge from a node to itself.
  std::vector<std::vector<LayoutPoint>> routes;
  double width = 0, height = 0;
};

LayeredLayout lay_out(const std::vector<LayoutNode>& nodes, const std::vector<LayoutEdge>& edges,
                      const LayoutGaps& gaps = {});

}  // namespace fathom::present
