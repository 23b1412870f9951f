#include "analysis/summary/named_calls.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fathom::analysis {

NamedCalls::NamedCalls(const CallTree& tree, std::vector<std::uint32_t> function_of,
                       std::vector<std::uint8_t> class_of)
    : tree_(tree), function_of_(std::move(function_of)), class_of_(std::move(class_of)), whole_(totals()) {}

std::vector<std::int64_t> NamedCalls::totals() const {
  std::vector<std::int64_t> totals(class_of_.size());
  std::vector<std::uint32_t> open_count(class_of_.size()), path;  // path: function of each depth
  for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
    const TreeNode& node = tree_.nodes[i];
    if (node.total == 0) continue;
    for (; path.size() > node.depth; path.pop_back())
      if (path.back() != kNoFunction) --open_count[path.back()];
    path.resize(node.depth, kNoFunction);
    const std::uint32_t function = function_of_[i];
    path.push_back(function);
    if (function != kNoFunction && open_count[function]++ == 0) totals[function] += node.total;
  }
  return totals;
}

std::size_t NamedCalls::calls_with(double least) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < tree_.nodes.size(); ++i)
    if (function_of_[i] != kNoFunction && tree_.nodes[i].total != 0 &&
        static_cast<double>(whole_[function_of_[i]]) >= least)
      ++count;
  return count;
}

void NamedCalls::keep(double least) {
  struct Open {
    std::uint32_t node = 0;             // the nearest kept one
    std::uint32_t named = kNoFunction;  // the same, if no other function with a name is below it
    std::array<std::uint32_t, kClasses> of_class{kNoFunction, kNoFunction, kNoFunction};
  };
  // Once, at its size: of a text of a million stacks these are a quarter of the tree.
  nodes_.clear();
  weights_.clear();
  nodes_.reserve(calls_with(least) + 1);
  weights_.reserve(nodes_.capacity());
  nodes_.push_back({0, 0, kNoFunction, kNoFunction, 0});
  weights_.push_back(tree_.total);
  std::vector<Open> path;
  for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
    const TreeNode& node = tree_.nodes[i];
    if (node.total == 0) continue;
    Open open;
    if (path.size() > node.depth) path.resize(node.depth);
    if (!path.empty()) open = path.back();
    path.resize(node.depth, open);  // where a caller is worth nothing
    if (const std::uint32_t function = function_of_[i]; function != kNoFunction) {
      open.named = kNoFunction;
      std::uint32_t& caller = open.of_class[class_of_[function]];
      if (static_cast<double>(whole_[function]) >= least) {
        nodes_.push_back({open.node, nodes_[open.node].level + 1, function, caller, node.depth});
        weights_.push_back(node.total);
        open.node = open.named = static_cast<std::uint32_t>(nodes_.size() - 1);
      }
      caller = function;
    }
    if (open.named != kNoFunction && node.self > 0) nodes_[open.named].self += node.self;
    path.push_back(open);
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].direct = weights_[i];
  for (std::size_t i = 1; i < nodes_.size(); ++i) nodes_[nodes_[i].parent].direct -= weights_[i];
}

void NamedCalls::include_all() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) weights_[i] = nodes_[i].direct;
  for (std::size_t i = nodes_.size(); i-- > 1;) weights_[nodes_[i].parent] += weights_[i];
}

void NamedCalls::exclude(std::uint32_t function) {
  constexpr std::uint32_t kNowhere = UINT32_MAX;
  std::uint32_t inside = kNowhere;  // the level of the outermost call of it that the walk is in
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].level <= inside) inside = nodes_[i].function == function ? nodes_[i].level : kNowhere;
    if (inside != kNowhere)
      weights_[i] = 0;
    else if (weights_[i] != 0)
      weights_[i] = nodes_[i].direct;
  }
  for (std::size_t i = nodes_.size(); i-- > 1;) weights_[nodes_[i].parent] += weights_[i];
}

// Visits nodes depth first with the functions that are open above each; `enter` gets the node and whether its function is open
// for the first time.
template <class Enter>
void NamedCalls::walk(Enter enter) const {
  std::vector<std::uint32_t> open_count(class_of_.size());
  std::vector<std::uint32_t> path;  // function of each level
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (weights_[i] == 0) continue;
    for (; path.size() > node.level; path.pop_back())
      if (path.back() != kNoFunction) --open_count[path.back()];
    path.resize(node.level, kNoFunction);  // where a caller is worth nothing: what it calls is less than that
    if (node.function != kNoFunction) {
      enter(node, weights_[i], open_count[node.function] == 0, open_count, path);
      ++open_count[node.function];
    }
    path.push_back(node.function);
  }
}

NamedCalls::Below NamedCalls::below(std::uint32_t from) const {
  Below sums{std::vector<std::int64_t>(class_of_.size()), std::vector<double>(class_of_.size()), 0};
  walk([&](const Node& node, std::int64_t weight, bool is_first, const auto& open_count, const auto&) {
    if (!is_first || (from != kNoFunction && open_count[from] == 0)) return;
    sums.total[node.function] += weight;
    sums.depth[node.function] += static_cast<double>(weight) * node.depth;
  });
  if (from != kNoFunction) sums.self = selves()[from];
  return sums;
}

std::int64_t NamedCalls::below_of_class(std::uint32_t from, std::uint8_t of_class) const {
  std::int64_t samples = 0;
  walk([&](const Node& node, std::int64_t weight, bool, const auto& open_count, const auto& path) {
    if (class_of_[node.function] != of_class || open_count[from] == 0) return;
    const auto inside = std::ranges::find(path, from) + 1;
    const bool is_outermost = std::none_of(inside, path.end(), [&](std::uint32_t each) {
      return each != kNoFunction && class_of_[each] == of_class;
    });
    if (is_outermost) samples += weight;
  });
  return samples;
}

std::vector<std::int64_t> NamedCalls::selves() const {
  std::vector<std::int64_t> selves(class_of_.size());
  for (std::size_t i = 1; i < nodes_.size(); ++i)
    if (weights_[i] > 0) selves[nodes_[i].function] += nodes_[i].self;
  return selves;
}

std::vector<std::int64_t> NamedCalls::callees_of(std::uint32_t from) const {
  std::vector<std::int64_t> calls(class_of_.size());
  walk([&](const Node& node, std::int64_t weight, bool is_first, const auto& open_count, const auto&) {
    if (is_first && node.function != from && open_count[from] != 0 && node.caller == from)
      calls[node.function] += weight;
  });
  return calls;
}

std::vector<std::int64_t> NamedCalls::callers_of(std::uint32_t leaf) const {
  std::vector<std::int64_t> above(class_of_.size());
  std::vector<std::uint32_t> seen;
  walk([&](const Node& node, std::int64_t weight, bool is_first, const auto&, const auto& path) {
    if (node.function != leaf || !is_first) return;
    seen.clear();
    for (const std::uint32_t each : path)
      if (each != kNoFunction && std::ranges::find(seen, each) == seen.end()) {
        seen.push_back(each);
        above[each] += weight;
      }
  });
  return above;
}

}  // namespace fathom::analysis
