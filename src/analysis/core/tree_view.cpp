#include "analysis/core/tree_view.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "base/stable_sort.h"

namespace fathom::analysis {
namespace {

using Node = MergedCalls::Node;

bool is_call(NodeKind kind) {
  return kind != NodeKind::kRoot && kind != NodeKind::kThread;
}

bool has_one_thread(const CallTree& tree) {
  const std::uint32_t first = tree.first_child(0);
  return first != kNoNode && tree.nodes[first].next_sibling == kNoNode &&
         tree.nodes[first].kind == NodeKind::kThread;
}

// Visits the topmost calls that match: those that no other match stands above.
template <class Visit>
void for_each_outermost(const CallTree& tree, const std::vector<char>& names, Visit visit) {
  std::vector<char> below(tree.nodes.size(), 0);
  const auto matches = [&](const TreeNode& node) { return is_call(node.kind) && names[node.name] != 0; };
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
    const std::uint32_t parent = tree.nodes[i].parent;
    below[i] = below[parent] != 0 || matches(tree.nodes[parent]);
    if (below[i] == 0 && matches(tree.nodes[i])) visit(i);
  }
}

}  // namespace

std::uint32_t MergedCalls::child(std::uint32_t parent, const TreeNode& like) {
  std::uint32_t& place = places_[std::uint64_t{like.name} << 32 | like.module];
  if (place == 0) place = static_cast<std::uint32_t>(places_.size());
  std::uint32_t& at = children_[std::uint64_t{parent} << 32 | place];
  if (at == 0) {
    at = static_cast<std::uint32_t>(nodes_.size());
    Node node;
    node.parent = parent;
    node.next_sibling = std::exchange(nodes_[parent].first_child, at);
    node.name = like.name;
    node.module = like.module;
    node.kind = like.kind;
    nodes_.push_back(node);
  }
  if (like.kind == NodeKind::kUser) nodes_[at].kind = NodeKind::kUser;  // inlined somewhere, called here
  return at;
}

void MergedCalls::add_below(const CallTree& tree, std::uint32_t top, bool fold_recursion) {
  struct Step {
    std::uint32_t node, deep;
  };
  std::vector<Step> path{{0, 1}};  // of the tree's nodes above the present one, from `top` on
  for (std::uint32_t i = top + 1; i < tree.nodes.size() && tree.nodes[i].depth > tree.nodes[top].depth; ++i) {
    const TreeNode& from = tree.nodes[i];
    path.resize(from.depth - tree.nodes[top].depth);
    const Step above = path.back();
    const Node& caller = nodes_[above.node];
    const bool again = fold_recursion && is_call(from.kind) && is_call(caller.kind) &&
                       caller.name == from.name && caller.module == from.module;
    const Step here = again ? Step{above.node, above.deep + 1} : Step{child(above.node, from), 1};
    Node& to = nodes_[here.node];
    to.deep = std::max(to.deep, here.deep);
    to.self += from.self;
    if (!again) to.total += from.total;
    path.push_back(here);
  }
}

MergedCalls MergedCalls::of(const CallTree& tree, bool fold_recursion) {
  MergedCalls calls;
  calls.nodes_[0].total = tree.total;
  calls.nodes_[0].self = tree.nodes[0].self;
  calls.add_below(tree, 0, fold_recursion);
  return calls;
}

// `from` and who called it, as a chain from the root on. The only thread of a program is no news.
void MergedCalls::add_above(const CallTree& tree, std::uint32_t from, std::int64_t value,
                            bool fold_recursion) {
  std::uint32_t at = 0, deep = 1;
  for (std::uint32_t node = from; node != 0; node = tree.nodes[node].parent) {
    const TreeNode& call = tree.nodes[node];
    if (!is_call(call.kind) && has_one_thread(tree)) break;
    if (++steps_ > limits_.steps || nodes_.size() > limits_.nodes)
      throw std::length_error("the tree of callers is too large; --focus or a shorter time makes it smaller");
    const bool again = fold_recursion && at != 0 && is_call(call.kind) && nodes_[at].name == call.name &&
                       nodes_[at].module == call.module;
    deep = again ? deep + 1 : 1;
    if (!again) {
      at = child(at, call);
      nodes_[at].total += value;
    }
    nodes_[at].deep = std::max(nodes_[at].deep, deep);
  }
}

MergedCalls MergedCalls::bottom_up(const CallTree& tree, bool fold_recursion, const MergeLimits& limits) {
  MergedCalls calls(limits);
  calls.nodes_[0].total = tree.total;
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
    if (tree.nodes[i].self != 0) calls.add_above(tree, i, tree.nodes[i].self, fold_recursion);
  }
  return calls;
}

MergedCalls MergedCalls::callers(const CallTree& tree, const std::vector<char>& names, bool fold_recursion,
                                 const MergeLimits& limits) {
  MergedCalls calls(limits);
  for_each_outermost(tree, names, [&](std::uint32_t match) {
    calls.nodes_[0].total += tree.nodes[match].total;
    calls.add_above(tree, tree.nodes[match].parent, tree.nodes[match].total, fold_recursion);
  });
  return calls;
}

MergedCalls MergedCalls::callees(const CallTree& tree, const std::vector<char>& names, bool fold_recursion) {
  MergedCalls calls;
  for_each_outermost(tree, names, [&](std::uint32_t match) {
    calls.nodes_[0].total += tree.nodes[match].total;
    calls.nodes_[0].self += tree.nodes[match].self;
    calls.add_below(tree, match, fold_recursion);
  });
  return calls;
}

namespace {

class Rows {
 public:
  Rows(const MergedCalls& calls, const TreeRowOptions& options) : nodes_(calls.nodes()), options_(options) {}

  std::vector<TreeRow> take() {
    std::uint32_t top = 0;
    const std::uint32_t only = nodes_[0].first_child;
    if (only != kNoNode && nodes_[only].next_sibling == kNoNode && nodes_[only].kind == NodeKind::kThread)
      top = only;
    open(top, 0);
    while (!pending_.empty()) {
      const TreeRow next = pending_.back();
      pending_.pop_back();
      if (next.kind == TreeRowKind::kRest) {
        rows_.push_back(next);
      } else {
        write_from(next, next.node);
      }
    }
    return std::move(rows_);
  }

 private:
  std::vector<std::uint32_t> wide_children(std::uint32_t node) const {
    std::vector<std::uint32_t> wide;
    for (std::uint32_t at = nodes_[node].first_child; at != kNoNode; at = nodes_[at].next_sibling)
      if (nodes_[at].total >= options_.least) wide.push_back(at);
    std::sort(wide.begin(), wide.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(-nodes_[a].total, nodes_[a].name, nodes_[a].module) <
             std::tuple(-nodes_[b].total, nodes_[b].name, nodes_[b].module);
    });
    return wide;
  }

  // The children of `node`, for later: on a stack, so the first comes last.
  void open(std::uint32_t node, std::uint32_t depth) {
    const std::vector<std::uint32_t> wide = wide_children(node);
    TreeRow rest{TreeRowKind::kRest, node, depth, true};
    for (std::uint32_t at = nodes_[node].first_child; at != kNoNode; at = nodes_[at].next_sibling) {
      if (nodes_[at].total >= options_.least || nodes_[at].total <= 0) continue;
      ++rest.count;
      rest.total += nodes_[at].total;
    }
    const bool tell_rest = rest.count > 1 && rest.total >= options_.least;
    if (tell_rest) pending_.push_back(rest);
    for (std::size_t i = wide.size(); i-- > 0;)
      pending_.push_back({TreeRowKind::kCall, wide[i], depth, i + 1 == wide.size() && !tell_rest, 1});
  }

  // A call that only hands on to the next one: nothing else below it is wide enough for a row, and neither is itself.
  std::uint32_t handed_on_to(std::uint32_t node) const {
    const std::vector<std::uint32_t> wide = wide_children(node);
    if (wide.size() != 1 || nodes_[node].kind == NodeKind::kThread) return kNoNode;
    return nodes_[node].total - nodes_[wide[0]].total < options_.least ? wide[0] : kNoNode;
  }

  // The chain that begins at the row's node, and what its last call branches to.
  void write_from(TreeRow row, std::uint32_t node) {
    std::vector<std::uint32_t> chain{node};
    for (std::uint32_t next; (next = handed_on_to(chain.back())) != kNoNode;) chain.push_back(next);
    const std::vector<char> kept = kept_of(chain, row.depth == 0);
    for (std::size_t i = 0; i < chain.size(); ++row.depth, row.last = true) {
      std::size_t end = i;
      while (end < chain.size() && kept[end] == 0) ++end;
      row.node = chain[i];
      row.self = nodes_[chain[i]].self;
      row.total = nodes_[chain[i]].total;
      if (end - i < 2) {  // one row says as much as "1 call"
        row.kind = TreeRowKind::kCall;
        row.count = 1;
        row.names.clear();
        ++i;
      } else {
        row.kind = TreeRowKind::kChain;
        row.count = static_cast<std::uint32_t>(end - i);
        row.names = most_frequent(chain, i, end);
        for (std::size_t at = i + 1; at < end; ++at) row.self += nodes_[chain[at]].self;
        i = end;
      }
      rows_.push_back(row);
    }
    open(chain.back(), row.depth);
  }

  // Of a chain there stay: where it begins (but for how a program was started), where it ends, and of the program's
  // own code the innermost calls.
  std::vector<char> kept_of(const std::vector<std::uint32_t>& chain, bool at_root) const {
    std::vector<char> kept(chain.size(), options_.fold ? 0 : 1);
    kept.back() = 1;
    const auto own = [&](std::size_t i) {
      return is_call(nodes_[chain[i]].kind) && options_.is_own &&
             options_.is_own(nodes_[chain[i]].name, nodes_[chain[i]].module);
    };
    if (!at_root || !options_.from_start || own(0) || !is_call(nodes_[chain[0]].kind)) kept[0] = 1;
    constexpr std::size_t kMostOwn = 4;
    std::size_t found = 0;
    for (std::size_t i = chain.size(); i-- > 0 && found < kMostOwn;)
      if (own(i)) {
        kept[i] = 1;
        ++found;
      }
    return kept;
  }

  std::vector<std::uint32_t> most_frequent(const std::vector<std::uint32_t>& chain, std::size_t from,
                                           std::size_t end) const {
    std::map<std::uint32_t, std::size_t> counts;
    for (std::size_t i = from; i < end; ++i) ++counts[nodes_[chain[i]].name];
    std::vector<std::uint32_t> names;
    for (std::size_t i = from; i < end; ++i)
      if (std::find(names.begin(), names.end(), nodes_[chain[i]].name) == names.end())
        names.push_back(nodes_[chain[i]].name);
    stable_sort_rows(names.begin(), names.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return counts[a] > counts[b]; });
    constexpr std::size_t kMost = 3;
    names.resize(std::min(names.size(), kMost));
    return names;
  }

  const std::vector<Node>& nodes_;
  const TreeRowOptions& options_;
  std::vector<TreeRow> pending_;
  std::vector<TreeRow> rows_;
};

}  // namespace

std::vector<TreeRow> tree_rows(const MergedCalls& calls, const TreeRowOptions& options) {
  return Rows(calls, options).take();
}

}  // namespace fathom::analysis
