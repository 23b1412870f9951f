#include "analysis/core/deep_stacks.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/flat_map.h"

namespace fathom::analysis {
namespace {

bool is_call(const TreeNode& node) {
  return node.kind == NodeKind::kUser || node.kind == NodeKind::kInlined || node.kind == NodeKind::kKernel ||
         node.kind == NodeKind::kOther;
}

std::uint64_t function_of(const TreeNode& node) {
  return (std::uint64_t{node.name} << 32) | node.module;
}

// A wrapper that was inlined into its own alias ("read" in "read") is no call of itself.
bool is_called(const CallTree& tree, const TreeNode& node) {
  return is_call(node) &&
         !(node.kind == NodeKind::kInlined && function_of(tree.nodes[node.parent]) == function_of(node));
}

struct Recursion {
  std::uint32_t node = 0, most_times = 0;
  std::int64_t value = 0;
  std::uint32_t open = 0;  // how often the function is in the path
};

constexpr std::uint32_t kNotCalled = UINT32_MAX;

struct OpenCall {
  std::uint32_t depth, function;  // row of the recursions; kNotCalled
  bool is_call;
};

}  // namespace

DeepStacks find_deep_stacks(const CallTree& tree) {
  DeepStacks found;
  std::vector<OpenCall> path;        // from the root to the node at hand
  FlatMap<std::uint32_t> functions;  // row of the recursions + 1
  std::vector<Recursion> recursions;
  std::map<std::uint32_t, std::int64_t> by_depth;
  std::uint32_t calls = 0;
  for (std::uint32_t at = 1; at < tree.nodes.size(); ++at) {
    const TreeNode& node = tree.nodes[at];
    for (; !path.empty() && path.back().depth >= node.depth; path.pop_back()) {
      if (path.back().function != kNotCalled) --recursions[path.back().function].open;
      if (path.back().is_call) --calls;
    }
    path.push_back({node.depth, kNotCalled, is_call(node)});
    if (is_call(node)) ++calls;
    if (is_called(tree, node)) {
      std::uint32_t& known = functions[function_of(node)];
      if (known == 0) {
        recursions.emplace_back();
        known = static_cast<std::uint32_t>(recursions.size());
      }
      path.back().function = known - 1;
      Recursion& recursion = recursions[known - 1];
      const std::uint32_t count = ++recursion.open;
      if (count > 1) {
        if (count == 2) recursion.value += node.total;  // all that is called from there has it twice at least
        if (recursion.node == 0) recursion.node = at;
        recursion.most_times = std::max(recursion.most_times, count);
      }
    }
    if (node.self <= 0) continue;
    by_depth[calls] += node.self;
    if (calls > found.deepest) {
      found.deepest = calls;
      found.deepest_node = at;
    }
  }
  std::int64_t all = 0, below = 0;
  for (const auto& [depth, value] : by_depth) all += value;
  for (const auto& [depth, value] : by_depth) {
    below += value;
    found.usual = depth;
    if (below >= all - below) break;
  }
  for (const Recursion& recursion : recursions) {
    if (recursion.node == 0) continue;
    const bool more = recursion.value != found.recursive ? recursion.value > found.recursive
                                                         : recursion.node < found.recursive_node;
    if (!more) continue;
    found.recursive_node = recursion.node;
    found.most_times = recursion.most_times;
    found.recursive = recursion.value;
  }
  return found;
}

}  // namespace fathom::analysis
