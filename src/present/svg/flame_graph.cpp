// A flame graph in a file of bounded size: where the whole tree is too large, the smallest frames are left out, and counted.
#include "present/svg/flame_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/core/functions.h"
#include "analysis/core/words.h"
#include "present/svg/flame_graph_bound.h"
#include "present/svg/flame_graph_picture.h"
#include "present/svg/flame_graph_text.h"

namespace fathom::present {

using analysis::CallTree;
using analysis::percent;

namespace {

// The options of the whole tree, for a tree of which parts are left out: colours, legend and both sides of a comparison are
// those of the whole.
FlameGraphOptions options_of(const BoundTree& bound, const Coloring& coloring, FlameGraphOptions options) {
  const std::size_t count = bound.tree.nodes.size();
  options.coloring = coloring;
  options.coloring->of_node.resize(count);
  for (std::size_t i = 0; i < count; ++i) options.coloring->of_node[i] = coloring.of_node[bound.from[i]];
  if (options.comparison) {
    const FlameComparison& whole = *options.comparison;
    FlameComparison kept = whole;
    const auto sum_below = [](const std::vector<std::int64_t>& own, const CallTree& tree,
                              std::uint32_t node) {
      const std::uint32_t depth = tree.nodes[node].depth;
      std::int64_t sum = own[node];
      for (std::size_t i = node + 1; i < tree.nodes.size() && tree.nodes[i].depth > depth; ++i) sum += own[i];
      return sum;
    };
    for (const auto& [from, to] :
         {std::pair{&whole.base, &kept.base}, std::pair{&whole.fresh, &kept.fresh}}) {
      to->assign(count, 0);
      const auto& nodes = bound.whole->nodes;
      for (std::size_t i = 0; i < count; ++i) {
        if (!bound.stands_for_children[i]) {
          (*to)[i] = (*from)[bound.from[i]];
          continue;
        }
        for (std::uint32_t child = bound.whole->first_child(bound.from[i]); child != analysis::kNoNode;
             child = nodes[child].next_sibling)
          if (nodes[child].total < bound.least) (*to)[i] += sum_below(*from, *bound.whole, child);
      }
    }
    options.comparison = std::move(kept);
  }
  if (!options.wakers.empty()) {
    std::vector<std::string> kept(count);
    for (std::size_t i = 0; i < count; ++i) kept[i] = options.wakers[bound.from[i]];
    options.wakers = std::move(kept);
  }
  options.notes.push_back(fmt::format(
      "To keep this file below {}, {} are left out, each {} or less; they hold {} of the total.",
      analysis::bytes(static_cast<double>(options.max_bytes)), analysis::counted(bound.frames, "frame"),
      quantity(bound.largest, bound.tree.unit, ""), percent(analysis::share(bound.tree, bound.value))));
  return options;
}

}  // namespace

std::string flame_graph_svg(const CallTree& tree, const FlameGraphOptions& asked) {
  constexpr std::size_t kBytesOfNode = 2;  // at least: flags and a symbol
  constexpr std::size_t kUsualBytes = 8;   // so the first attempt is nearly always the last one
  FlameGraphOptions options = asked;
  if (!options.coloring) options.coloring = color_tree(tree, options.colors, options.reverse);
  std::string svg;
  std::size_t most = std::min(tree.nodes.size(), options.max_bytes / kBytesOfNode);
  if (most == tree.nodes.size()) {
    svg = draw_flame_graph(tree, options);
    if (svg.size() <= options.max_bytes) return svg;
  }
  most = std::min(tree.nodes.size(), 2 * options.max_bytes / kUsualBytes);
  while ((most /= 2) > 0) {
    svg = {};
    const BoundTree bound = keep_largest(tree, most);
    svg = draw_flame_graph(bound.tree, options_of(bound, *options.coloring, options));
    if (svg.size() <= options.max_bytes) break;
  }
  return svg;
}

}  // namespace fathom::present
