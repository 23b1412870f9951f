#include "analysis/core/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analysis/core/fold_generics.h"
#include "analysis/core/name_pattern.h"
#include "analysis/core/words.h"
#include "base/flat_map.h"
#include "base/stable_sort.h"
#include "model/nameless_function.h"

namespace fathom::analysis {
namespace {

bool is_function(const TreeNode& node) {
  return node.kind != NodeKind::kRoot && node.kind != NodeKind::kThread;
}

// The shortest first: a name of a whole template's arguments is nothing that anybody reads in a message.
std::string listed(std::vector<std::string> names) {
  constexpr std::size_t kMost = 4, kLongest = 72;
  stable_sort_rows(names, {}, &std::string::size);
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    if (i != 0) text += ", ";
    std::string name = names[i].size() <= kLongest ? names[i] : fold_generics(names[i]);
    if (name.size() > kLongest) name = valid_utf8(name.substr(0, kLongest)) + "…";
    text += "'" + printable(name) + "'";
  }
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

}  // namespace

Result<std::vector<char>> matching_names(const CallTree& tree, const std::string& pattern) {
  std::vector<char> is_name(tree.names.size(), 0);  // used by a function, and not only by a thread
  for (const TreeNode& node : tree.nodes) is_name[node.name] |= is_function(node) ? 1 : 0;

  const Result<NamePattern> parsed = NamePattern::parse(pattern);
  if (!parsed) return tl::unexpected(parsed.error());
  std::vector<NameFit> fits(tree.names.size(), NameFit::kNone);
  NameFit best = NameFit::kNone;
  for (std::size_t i = 0; i < tree.names.size(); ++i) {
    if (is_name[i] != 0) fits[i] = parsed->fit(tree.names[i]);
    best = std::max(best, fits[i]);
  }
  std::vector<char> matched(tree.names.size(), 0);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tree.names.size(); ++i) {
    if (best == NameFit::kNone || fits[i] != best) continue;
    matched[i] = 1;
    names.push_back(tree.names[i]);
  }
  // What a view prints may stand for several functions, and then all of them are meant; a part of a name is a guess.
  if (best == NameFit::kPart && names.size() > 1)
    return fail(ErrorKind::kUsage,
                fmt::format("'{}' fits {} functions: {}", pattern, names.size(), listed(names)),
                fmt::format("the whole name, or '/{}/' to take all of them as one", pattern));
  if (names.empty())
    return fail(ErrorKind::kNotFound, fmt::format("no sampled function is called '{}'", pattern),
                "a part of the name, or a regular expression between slashes; --top 0 lists all names");
  return matched;
}

namespace {

class RowSums {
 public:
  void add(const TreeNode& node, std::int64_t value) {
    if (value == 0) return;
    std::uint32_t& row = ids_[std::uint64_t{node.name} << 32 | node.module];
    if (row == 0) {
      rows_.push_back({node.name, node.module, node.kind, 0});
      row = static_cast<std::uint32_t>(rows_.size());
    }
    rows_[row - 1].value += value;
  }
  std::vector<NeighbourRow> take() {
    std::sort(rows_.begin(), rows_.end(), [](const NeighbourRow& a, const NeighbourRow& b) {
      return std::tuple(-a.value, a.name, a.module) < std::tuple(-b.value, b.name, b.module);
    });
    return std::move(rows_);
  }

 private:
  FlatMap<std::uint32_t> ids_;  // row + 1
  std::vector<NeighbourRow> rows_;
};

}  // namespace

std::vector<FunctionRow> function_table(const CallTree& tree, SortBy sort) {
  std::vector<FunctionRow> rows;
  std::vector<std::uint32_t> open;  // per row: how often it stands on the path to the present node
  std::vector<std::uint32_t> path{~std::uint32_t{0}};  // rows by depth; the root is none
  FlatMap<std::uint32_t> ids;                          // row + 1
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    for (; path.size() > node.depth; path.pop_back()) {
      if (path.back() != ~std::uint32_t{0}) --open[path.back()];
    }
    if (!is_function(node)) {
      path.push_back(~std::uint32_t{0});
      continue;
    }
    std::uint32_t& id = ids[std::uint64_t{node.name} << 32 | node.module];
    if (id == 0) {
      rows.push_back({node.name, node.module, node.kind, 0, 0});
      open.push_back(0);
      id = static_cast<std::uint32_t>(rows.size());
    }
    const std::uint32_t at = id - 1;
    if (node.kind == NodeKind::kUser) rows[at].kind = NodeKind::kUser;
    rows[at].self += node.self;
    if (open[at]++ == 0) rows[at].total += node.total;
    path.push_back(at);
  }
  std::sort(rows.begin(), rows.end(), [sort](const FunctionRow& a, const FunctionRow& b) {
    const bool by_self = sort == SortBy::kSelf;
    return std::tuple(by_self ? -a.self : -a.total, by_self ? -a.total : -a.self, a.name, a.module) <
           std::tuple(by_self ? -b.self : -b.total, by_self ? -b.total : -b.self, b.name, b.module);
  });
  return rows;
}

double share(const CallTree& tree, std::int64_t value) {
  return tree.total == 0 ? 0 : static_cast<double>(value) / static_cast<double>(tree.total);
}

Interval share_interval(const CallTree& tree, std::int64_t value) {
  return wilson_interval(share(tree, value), tree.effective_samples);
}

bool is_noise(const CallTree& tree, std::int64_t value) {
  return share_interval(tree, value).half_width() > share(tree, value) / 2;
}

bool is_unnamed(std::string_view name) {
  return (name.size() > 2 && name.front() == '[' && name.back() == ']') || model::nameless_function(name);
}

Result<Neighbours> find_neighbours(const CallTree& tree, const std::string& pattern) {
  const Result<std::vector<char>> matched = matching_names(tree, pattern);
  if (!matched) return tl::unexpected(matched.error());
  const auto is_match = [&](const TreeNode& node) { return is_function(node) && (*matched)[node.name] != 0; };

  // Depth-first order: forwards a parent comes before its children, backwards after them.
  const std::size_t count = tree.nodes.size();
  std::vector<char> below_match(count, 0);
  std::vector<std::int64_t> matched_below(count, 0);  // weight of the topmost matches of a node's subtree
  Neighbours around;
  RowSums callers;
  RowSums callees;
  for (std::size_t i = 1; i < count; ++i) {
    const TreeNode& node = tree.nodes[i];
    below_match[i] = below_match[node.parent] != 0 || is_match(tree.nodes[node.parent]);
    if (!is_match(node) || below_match[i] != 0) continue;
    around.total += node.total;
    callers.add(tree.nodes[node.parent], node.total);
  }
  for (std::size_t i = count; i-- > 1;) {
    const TreeNode& node = tree.nodes[i];
    if (is_match(node)) {
      around.self += node.self;
      matched_below[i] = node.total;
    } else if (is_match(tree.nodes[node.parent])) {
      callees.add(node, node.total - matched_below[i]);
    }
    matched_below[node.parent] += matched_below[i];
  }
  for (std::size_t i = 0; i < tree.names.size(); ++i) {
    if ((*matched)[i] != 0) around.matched.push_back(tree.names[i]);
  }
  around.callers = callers.take();
  around.callees = callees.take();
  return around;
}

}  // namespace fathom::analysis
