#include "present/svg/flame_graph_bound.h"

#include <algorithm>
#include <functional>

namespace fathom::present {
namespace {

using analysis::CallTree;
using analysis::TreeNode;

constexpr std::string_view kLeftOut = "(narrow frames, left out)";

// The least total that is kept.
std::int64_t threshold_of(const CallTree& tree, std::size_t most) {
  if (tree.nodes.size() - 1 <= most) return INT64_MIN;
  std::vector<std::int64_t> totals;
  totals.reserve(tree.nodes.size());
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) totals.push_back(tree.nodes[i].total);
  const auto first_left_out = totals.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(totals.begin(), first_left_out, totals.end(), std::greater<>());
  return *first_left_out + 1;
}

// Only names that are used, in their order.
void keep_used_names(CallTree& tree, const std::vector<std::string>& names, std::uint32_t left_out_name) {
  std::vector<std::uint32_t> used;
  for (const TreeNode& node : tree.nodes) used.push_back(node.name);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  const auto text = [&](std::uint32_t name) {
    return name == left_out_name ? kLeftOut : std::string_view(names[name]);
  };
  std::sort(used.begin(), used.end(), [&](std::uint32_t a, std::uint32_t b) { return text(a) < text(b); });
  std::vector<std::uint32_t> row(names.size() + 1);
  tree.names.clear();
  for (const std::uint32_t name : used) {
    row[name] = static_cast<std::uint32_t>(tree.names.size());
    tree.names.emplace_back(text(name));
  }
  for (TreeNode& node : tree.nodes) node.name = row[node.name];
}

// The nodes of a large tree are most of a command's memory, so they are not copied to be dropped. The names are others afterwards.
CallTree without_nodes_and_names(const CallTree& tree) {
  CallTree rest;
  rest.modules = tree.modules;
  rest.total = tree.total;
  rest.unit = tree.unit;
  rest.metric = tree.metric;
  rest.samples = tree.samples;
  rest.waits = tree.waits;
  rest.shrunk = tree.shrunk;
  rest.idle_ns = tree.idle_ns;
  rest.idle_threads = tree.idle_threads;
  rest.queue_ns = tree.queue_ns;
  rest.tracer = tree.tracer;
  rest.filtered = tree.filtered;
  rest.effective_samples = tree.effective_samples;
  return rest;
}

}  // namespace

BoundTree keep_largest(const CallTree& tree, std::size_t most) {
  const std::int64_t least = threshold_of(tree, most);
  const auto left_out_name = static_cast<std::uint32_t>(tree.names.size());
  BoundTree bound;
  bound.whole = &tree;
  bound.tree = without_nodes_and_names(tree);
  std::vector<char> kept(tree.nodes.size());  // 2: and a child of it is left out
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    kept[i] = i == 0 || (kept[node.parent] != 0 && node.total >= least) ? 1 : 0;
    count += kept[i] != 0 ? 1 : 0;
    if (kept[i] != 0 || kept[node.parent] != 1) continue;
    kept[node.parent] = 2;
    ++count;
  }
  // At once: vectors that grow would need twice the memory of a large tree.
  bound.tree.nodes.reserve(count);
  bound.from.reserve(count);
  bound.stands_for_children.reserve(count);
  bound.least = least;
  std::vector<std::uint32_t> row(tree.nodes.size());
  std::vector<std::uint32_t> last_child;
  last_child.reserve(count);
  const auto append = [&](const TreeNode& node, std::uint32_t from) {
    const auto number = static_cast<std::uint32_t>(bound.tree.nodes.size());
    bound.tree.nodes.push_back(node);
    bound.tree.nodes.back().next_sibling = analysis::kNoNode;
    bound.from.push_back(from);
    bound.stands_for_children.push_back(false);
    last_child.push_back(analysis::kNoNode);
    if (number == 0) return number;
    const std::uint32_t parent = node.parent, before = last_child[parent];
    if (before != analysis::kNoNode) bound.tree.nodes[before].next_sibling = number;
    last_child[parent] = number;
    return number;
  };
  // The children that are left out come after all that is below the others: when the walk leaves a node.
  const auto leave = [&](std::uint32_t node) {
    TreeNode rest;
    bool any = false;
    for (std::uint32_t child = tree.first_child(node); child != analysis::kNoNode;
         child = tree.nodes[child].next_sibling) {
      if (tree.nodes[child].total >= least) continue;
      any = true;
      rest.total += tree.nodes[child].total;
      bound.largest = std::max(bound.largest, tree.nodes[child].total);
    }
    if (!any) return;
    rest.parent = row[node];
    rest.depth = tree.nodes[node].depth + 1;
    rest.kind = analysis::NodeKind::kOther;
    rest.name = left_out_name;
    rest.self = rest.total;
    bound.value += rest.total;
    bound.stands_for_children[append(rest, node)] = true;
  };
  std::vector<std::uint32_t> open;  // from the root to the node that was kept last
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    if (kept[i] == 0) {
      ++bound.frames;
      continue;
    }
    while (!open.empty() && open.back() != node.parent) {
      leave(open.back());
      open.pop_back();
    }
    TreeNode copy = node;
    copy.parent = row[node.parent];
    row[i] = append(copy, i);
    open.push_back(i);
  }
  for (; !open.empty(); open.pop_back()) leave(open.back());
  keep_used_names(bound.tree, tree.names, left_out_name);
  return bound;
}

}  // namespace fathom::present
