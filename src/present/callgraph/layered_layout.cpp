#include "present/callgraph/layered_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace fathom::present {
namespace {

// Sweeps over all layers, down and up in turn. The order is as good as it gets after about ten, x after half of that.
constexpr int kOrderSweeps = 16, kPlaceSweeps = 10;
// How much straighter a piece of a long edge is than an edge between two nodes: its bends have no reason.
constexpr double kStraightInside = 8, kStraightEnd = 2;

// A node, or the place where an edge passes a layer.
struct Vertex {
  std::uint32_t layer = 0;
  double width = 0, x = 0;
  bool is_node = false;
  std::vector<std::uint32_t> above = {}, below = {};  // rows of the segments
};
// A piece of an edge between two neighbouring layers.
struct Segment {
  std::uint32_t upper = 0, lower = 0;  // vertices
  double weight = 1;
};

class Drawing {
 public:
  Drawing(const std::vector<LayoutNode>& nodes, const std::vector<LayoutEdge>& edges, const LayoutGaps& gaps)
      : nodes_(nodes), edges_(edges), gaps_(gaps) {}

  LayeredLayout draw() {
    turn_edges_down();
    assign_layers();
    cut_edges_into_segments();
    order_layers();
    place_across();
    return finished();
  }

 private:
  // Depth first, heavy edges first: an edge to a node that is still being visited closes a cycle and is turned round.
  void turn_edges_down() {
    turned_.assign(edges_.size(), false);
    leaving_.resize(nodes_.size());
    std::vector<std::uint32_t> arriving(nodes_.size());
    for (std::uint32_t i = 0; i < edges_.size(); ++i) {
      if (edges_[i].from == edges_[i].to) continue;
      leaving_[edges_[i].from].push_back(i);
      ++arriving[edges_[i].to];
    }
    for (std::vector<std::uint32_t>& leaving : leaving_)
      std::ranges::stable_sort(leaving, std::greater<>(), [&](std::uint32_t i) { return edges_[i].weight; });
    std::vector<State> states(nodes_.size(), State::kNew);
    for (const bool roots : {true, false})
      for (std::uint32_t node = 0; node < nodes_.size(); ++node)
        if (!roots || arriving[node] == 0) visit(node, states);
  }

  enum class State : std::uint8_t { kNew, kOpen, kDone };
  void visit(std::uint32_t root, std::vector<State>& states) {
    if (states[root] != State::kNew) return;
    struct Step {
      std::uint32_t node, next;
    };
    std::vector<Step> path{{root, 0}};
    states[root] = State::kOpen;
    while (!path.empty()) {
      const std::uint32_t node = path.back().node;
      if (path.back().next == leaving_[node].size()) {
        states[node] = State::kDone;
        finished_last_.push_back(node);
        path.pop_back();
        continue;
      }
      const std::uint32_t edge = leaving_[node][path.back().next++];
      const std::uint32_t to = edges_[edge].to;
      if (states[to] == State::kOpen) turned_[edge] = true;
      if (states[to] != State::kNew) continue;
      states[to] = State::kOpen;
      path.push_back({to, 0});
    }
  }

  std::uint32_t upper_end(std::uint32_t edge) const {
    return turned_[edge] ? edges_[edge].to : edges_[edge].from;
  }
  std::uint32_t lower_end(std::uint32_t edge) const {
    return turned_[edge] ? edges_[edge].from : edges_[edge].to;
  }

  // The length of the longest path that leads to a node; a node that nothing leads to stands right above the first that it leads to.
  void assign_layers() {
    std::vector<std::vector<std::uint32_t>> down(nodes_.size());
    std::vector<bool> is_root(nodes_.size(), true);
    for (std::uint32_t i = 0; i < edges_.size(); ++i) {
      if (edges_[i].from == edges_[i].to) continue;
      down[upper_end(i)].push_back(lower_end(i));
      is_root[lower_end(i)] = false;
    }
    vertices_.resize(nodes_.size());
    for (auto node = finished_last_.rbegin(); node != finished_last_.rend(); ++node)  // a topological order
      for (const std::uint32_t to : down[*node])
        vertices_[to].layer = std::max(vertices_[to].layer, vertices_[*node].layer + 1);
    for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
      vertices_[node].width = nodes_[node].width;
      vertices_[node].is_node = true;
      if (!is_root[node] || down[node].empty()) continue;
      std::uint32_t highest = UINT32_MAX;
      for (const std::uint32_t to : down[node]) highest = std::min(highest, vertices_[to].layer);
      vertices_[node].layer = highest - 1;
    }
  }

  void cut_edges_into_segments() {
    passages_.resize(edges_.size());
    for (std::uint32_t i = 0; i < edges_.size(); ++i) {
      if (edges_[i].from == edges_[i].to) continue;
      std::uint32_t last = upper_end(i);
      const std::uint32_t end = lower_end(i);
      for (std::uint32_t layer = vertices_[last].layer + 1; layer < vertices_[end].layer; ++layer) {
        const auto passage = static_cast<std::uint32_t>(vertices_.size());
        vertices_.push_back({.layer = layer});
        passages_[i].push_back(passage);
        connect(last, passage, edges_[i].weight);
        last = passage;
      }
      connect(last, end, edges_[i].weight);
    }
  }

  void connect(std::uint32_t upper, std::uint32_t lower, double weight) {
    const int ends = vertices_[upper].is_node + vertices_[lower].is_node;
    const auto row = static_cast<std::uint32_t>(segments_.size());
    segments_.push_back({upper, lower,
                         weight * (ends == 2   ? 1
                                   : ends == 1 ? kStraightEnd
                                               : kStraightInside)});
    vertices_[upper].below.push_back(row);
    vertices_[lower].above.push_back(row);
  }

  std::uint32_t across(std::uint32_t segment, std::uint32_t vertex) const {
    const Segment& row = segments_[segment];
    return row.upper == vertex ? row.lower : row.upper;
  }

  // Depth first from the top puts what belongs together side by side; sweeps then move each vertex to the mean of its neighbours.
  void order_layers() {
    std::uint32_t layers = 0;
    for (const Vertex& vertex : vertices_) layers = std::max(layers, vertex.layer + 1);
    layers_.resize(layers);
    std::vector<bool> seen(vertices_.size());
    std::vector<std::uint32_t> open;
    for (std::uint32_t root = 0; root < vertices_.size(); ++root) {
      if (!vertices_[root].above.empty()) continue;
      open.push_back(root);
      while (!open.empty()) {
        const std::uint32_t vertex = open.back();
        open.pop_back();
        if (seen[vertex]) continue;
        seen[vertex] = true;
        layers_[vertices_[vertex].layer].push_back(vertex);
        const auto& below = vertices_[vertex].below;
        for (auto segment = below.rbegin(); segment != below.rend(); ++segment)
          open.push_back(segments_[*segment].lower);
      }
    }
    std::vector<std::vector<std::uint32_t>> best = layers_;
    std::uint64_t least = crossings();
    for (int sweep = 0; sweep < kOrderSweeps && least > 0; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (std::uint32_t i = 1; i < layers; ++i) order_by_neighbours(down ? i : layers - 1 - i, down);
      const std::uint64_t now = crossings();
      if (now >= least) continue;
      least = now;
      best = layers_;
    }
    layers_ = std::move(best);
  }

  void order_by_neighbours(std::uint32_t layer, bool by_above) {
    number_places();
    std::vector<std::pair<double, std::uint32_t>> rows;
    for (const std::uint32_t vertex : layers_[layer]) {
      const auto& segments = by_above ? vertices_[vertex].above : vertices_[vertex].below;
      double sum = 0, weight = 0;
      for (const std::uint32_t segment : segments) {
        sum += segments_[segment].weight * place_[across(segment, vertex)];
        weight += segments_[segment].weight;
      }
      rows.emplace_back(weight > 0 ? sum / weight : place_[vertex], vertex);
    }
    std::ranges::stable_sort(rows, {}, [](const auto& row) { return row.first; });
    std::ranges::transform(rows, layers_[layer].begin(), [](const auto& row) { return row.second; });
  }

  void number_places() {
    place_.resize(vertices_.size());
    for (const auto& layer : layers_)
      for (std::uint32_t i = 0; i < layer.size(); ++i) place_[layer[i]] = i;
  }

  // Pairs of segments between the same layers whose ends are in opposite orders.
  std::uint64_t crossings() {
    number_places();
    std::uint64_t count = 0;
    std::vector<std::uint32_t> lower;
    for (const auto& layer : layers_) {
      lower.clear();
      for (const std::uint32_t vertex : layer) {
        const std::size_t first = lower.size();
        for (const std::uint32_t segment : vertices_[vertex].below)
          lower.push_back(place_[segments_[segment].lower]);
        std::sort(lower.begin() + static_cast<std::ptrdiff_t>(first), lower.end());
      }
      count += inversions(lower);
    }
    return count;
  }

  static std::uint64_t inversions(const std::vector<std::uint32_t>& places) {
    if (places.empty()) return 0;
    // A tree of counts by place (Fenwick): how many so far are at most there.
    std::vector<std::uint32_t> counts(*std::ranges::max_element(places) + 2);
    std::uint64_t found = 0, seen = 0;
    for (const std::uint32_t place : places) {
      std::uint64_t not_after = 0;
      for (std::size_t i = place + 1; i > 0; i -= i & (~i + 1)) not_after += counts[i];
      found += seen - not_after;
      for (std::size_t i = place + 1; i < counts.size(); i += i & (~i + 1)) ++counts[i];
      ++seen;
    }
    return found;
  }

  void place_across() {
    for (const auto& layer : layers_) {
      double x = 0;
      for (const std::uint32_t vertex : layer) {
        vertices_[vertex].x = x + vertices_[vertex].width / 2;
        x += vertices_[vertex].width + gaps_.beside;
      }
    }
    const auto layers = static_cast<std::uint32_t>(layers_.size());
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      const bool last = sweep + 2 >= kPlaceSweeps;  // both sides count in the end
      for (std::uint32_t i = 0; i < layers; ++i)
        place_layer(sweep % 2 == 0 ? i : layers - 1 - i, last || sweep % 2 == 0, last || sweep % 2 != 0);
    }
  }

  // The x of a layer that are nearest to the means of their neighbours, in order and with gaps: with the gaps taken off this is
  // isotonic regression, solved by pooling neighbours that want to pass each other.
  void place_layer(std::uint32_t layer, bool by_above, bool by_below) {
    struct Pool {
      double sum, weight;
      std::size_t count;
      double mean() const { return sum / weight; }
    };
    std::vector<Pool> pools;
    std::vector<double> offsets;
    double offset = 0;
    for (std::size_t i = 0; i < layers_[layer].size(); ++i) {
      const std::uint32_t vertex = layers_[layer][i];
      if (i > 0)
        offset += (vertices_[layers_[layer][i - 1]].width + vertices_[vertex].width) / 2 + gaps_.beside;
      offsets.push_back(offset);
      const auto [wish, weight] = wish_of(vertex, by_above, by_below);
      pools.push_back({(wish - offset) * weight, weight, 1});
      while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
        const Pool upper = pools.back();
        pools.pop_back();
        pools.back() = {pools.back().sum + upper.sum, pools.back().weight + upper.weight,
                        pools.back().count + upper.count};
      }
    }
    std::size_t i = 0;
    for (const Pool& pool : pools)
      for (std::size_t n = 0; n < pool.count; ++n, ++i)
        vertices_[layers_[layer][i]].x = pool.mean() + offsets[i];
  }

  std::pair<double, double> wish_of(std::uint32_t vertex, bool by_above, bool by_below) const {
    constexpr double kStay = 1e-3;  // who has no neighbours there stays, and gives way
    double sum = vertices_[vertex].x * kStay, weight = kStay;
    const auto add = [&](const std::vector<std::uint32_t>& segments) {
      for (const std::uint32_t segment : segments) {
        sum += segments_[segment].weight * vertices_[across(segment, vertex)].x;
        weight += segments_[segment].weight;
      }
    };
    if (by_above) add(vertices_[vertex].above);
    if (by_below) add(vertices_[vertex].below);
    return {sum / weight, weight};
  }

  LayeredLayout finished() const {
    LayeredLayout layout;
    std::vector<double> tops, bottoms;
    for (const auto& layer : layers_) {
      double height = 0;
      for (const std::uint32_t vertex : layer)
        if (vertices_[vertex].is_node) height = std::max(height, nodes_[vertex].height);
      tops.push_back(tops.empty() ? 0 : bottoms.back() + gaps_.below);
      bottoms.push_back(tops.back() + height);
    }
    double left = 0, right = 0;
    bool first = true;
    for (const Vertex& vertex : vertices_) {
      left = first ? vertex.x - vertex.width / 2 : std::min(left, vertex.x - vertex.width / 2);
      right = first ? vertex.x + vertex.width / 2 : std::max(right, vertex.x + vertex.width / 2);
      first = false;
    }
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
      layout.centers.push_back(
          {vertices_[i].x - left, (tops[vertices_[i].layer] + bottoms[vertices_[i].layer]) / 2});
    layout.width = right - left;
    layout.height = bottoms.empty() ? 0 : bottoms.back();
    layout.routes.resize(edges_.size());
    for (std::uint32_t i = 0; i < edges_.size(); ++i) {
      if (edges_[i].from == edges_[i].to) continue;
      std::vector<LayoutPoint>& route = layout.routes[i];
      const std::uint32_t upper = upper_end(i), lower = lower_end(i);
      route.push_back({layout.centers[upper].x, layout.centers[upper].y + nodes_[upper].height / 2});
      for (const std::uint32_t passage : passages_[i]) {
        const double x = vertices_[passage].x - left;
        route.push_back({x, tops[vertices_[passage].layer]});
        route.push_back({x, bottoms[vertices_[passage].layer]});
      }
      route.push_back({layout.centers[lower].x, layout.centers[lower].y - nodes_[lower].height / 2});
      if (turned_[i]) std::ranges::reverse(route);
    }
    return layout;
  }

  const std::vector<LayoutNode>& nodes_;
  const std::vector<LayoutEdge>& edges_;
  const LayoutGaps& gaps_;
  std::vector<bool> turned_;                         // by edge
  std::vector<std::vector<std::uint32_t>> leaving_;  // by node: its edges, the heaviest first
  std::vector<std::uint32_t> finished_last_;         // nodes, each after all that it leads to
  std::vector<Vertex> vertices_;                     // the nodes come first
  std::vector<Segment> segments_;
  std::vector<std::vector<std::uint32_t>> passages_;  // by edge, from top to bottom
  std::vector<std::vector<std::uint32_t>> layers_;    // vertices from left to right
  std::vector<std::uint32_t> place_;                  // by vertex: where it is in its layer
};

}  // namespace

LayeredLayout lay_out(const std::vector<LayoutNode>& nodes, const std::vector<LayoutEdge>& edges,
                      const LayoutGaps& gaps) {
  return Drawing(nodes, edges, gaps).draw();
}

}  // namespace fathom::present
