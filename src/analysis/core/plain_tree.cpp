#include "analysis/core/plain_tree.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace fathom::analysis {
namespace {

// Each root looks at all children of its nodes, also at those of other roots.
constexpr std::size_t kMostRoots = 16;

bool may_be_plain(const TreeOptions& options, const StackSums& sums) {
  return !options.reverse && !options.fold_recursion && options.selection.stacks == nullptr &&
         sums.root_names.size() <= kMostRoots &&
         std::ranges::none_of(sums.rows,
                              [](const StackSums::Row& row) { return row.cause != 0 || row.skip != 0; });
}

// The table of stacks with each stack directly in front of those above it, in the order of the tree. The table itself is in the order
// in which stacks were found: who goes up and down in it waits for memory at every branch, and the tree of each root does that again.
class OrderedStacks {
 public:
  struct Call {
    std::uint32_t parent;  // position; parents stand before their children
    std::uint32_t place;
  };

  OrderedStacks(const std::vector<model::Stack>& stacks, const std::vector<std::uint32_t>& place_of_frame,
                const std::vector<std::uint32_t>& rank)
      : positions_(stacks.size(), 1) {
    const auto place_of = [&](std::size_t stack) { return place_of_frame[stacks[stack].frame.value]; };
    find_positions(stacks, Children::of(
                               stacks.size(), [&](std::uint32_t stack) { return stacks[stack].parent.value; },
                               [&](std::uint32_t stack) { return rank[place_of(stack)]; }));
    calls_.resize(stacks.size());
    for (std::size_t stack = 1; stack < stacks.size(); ++stack)
      calls_[positions_[stack]] = {positions_[stacks[stack].parent.value], place_of(stack)};
  }

  bool has_equal_stacks() const { return has_equal_; }
  std::uint32_t position(std::uint32_t stack) const { return positions_[stack]; }
  const std::vector<Call>& calls() const { return calls_; }
  // Zeros, as many as there are stacks, in the memory of the positions, which are not asked any more.
  std::vector<std::uint32_t> zeros_for_positions() {
    std::ranges::fill(positions_, 0);
    return std::move(positions_);
  }

 private:
  void find_positions(const std::vector<model::Stack>& stacks, const Children& children) {
    has_equal_ = children.has_equal;
    // First how many stacks begin with each one, itself included; a stack's position then follows from its parent's.
    for (std::size_t stack = stacks.size(); stack-- > 1;)
      positions_[stacks[stack].parent.value] += positions_[stack];
    positions_[0] = 0;
    for (std::size_t stack = 0; stack < stacks.size(); ++stack) {
      std::uint32_t next = positions_[stack] + 1;
      for (std::uint32_t at = children.first[stack]; at < children.first[stack + 1]; ++at)
        next += std::exchange(positions_[children.order[at]], next);
    }
  }

  std::vector<std::uint32_t> positions_;  // by stack
  std::vector<Call> calls_;               // by position
  bool has_equal_ = false;                // two children of one stack are of the same place
};

// The nodes of one tree, depth first.
class Drawing {
 public:
  Drawing(OrderedStacks& stacks, const std::vector<Place>& places,
          const std::vector<std::uint32_t>& name_rank, const std::vector<std::uint32_t>& module_rank,
          std::vector<TreeNode>& nodes)
      : calls_(stacks.calls()),
        places_(places),
        name_rank_(name_rank),
        module_rank_(module_rank),
        nodes_(nodes),
        marks_(stacks.zeros_for_positions()) {}

  // Of one root, whose node is there: its rows, whose stacks are positions, and all that is above them.
  void draw(std::uint32_t root, const StackSums::Row* begin, const StackSums::Row* end) {
    for (const StackSums::Row* row = begin; row != end; ++row) {
      if (row->stack == 0)
        nodes_[root].self = nodes_[root].total = row->value;
      else
        marks_[row->stack] = kFirstRow + static_cast<std::uint32_t>(row - begin);
    }
    for (std::size_t at = calls_.size(); at-- > 1;)
      if (marks_[at] != 0 && marks_[calls_[at].parent] == 0) marks_[calls_[at].parent] = kOnPath;
    marks_[0] = 0;
    open_.assign(1, {0, root, kNoNode});
    for (std::uint32_t at = 1; at < calls_.size(); ++at) {
      const std::uint32_t mark = std::exchange(marks_[at], 0);
      if (mark == 0) continue;
      while (open_.back().position != calls_[at].parent) close();
      Open& parent = open_.back();
      parent.last_child = append(parent.node, parent.last_child, calls_[at].place);
      const Open node{at, parent.last_child, kNoNode};
      if (mark >= kFirstRow) nodes_[node.node].self = nodes_[node.node].total = begin[mark - kFirstRow].value;
      open_.push_back(node);
    }
    while (!open_.empty()) close();
  }

  std::uint32_t append(std::uint32_t parent, std::uint32_t sibling, std::uint32_t place) {
    if (nodes_.size() > kMostNodes) refuse_large_tree();
    const auto id = static_cast<std::uint32_t>(nodes_.size());
    if (sibling != kNoNode) nodes_[sibling].next_sibling = id;
    TreeNode node;
    node.parent = parent;
    node.name = name_rank_[places_[place].name];
    node.module = module_rank_[places_[place].module];
    node.depth = nodes_[parent].depth + 1;
    node.kind = places_[place].kind;
    nodes_.push_back(node);
    return id;
  }

 private:
  // What a stack is in the tree of a root: not there, above a row, or that of a row.
  static constexpr std::uint32_t kOnPath = 1, kFirstRow = 2;
  struct Open {
    std::uint32_t position, node, last_child;
  };

  void close() {
    const std::int64_t total = nodes_[open_.back().node].total;
    open_.pop_back();
    if (!open_.empty()) nodes_[open_.back().node].total += total;
  }

  const std::vector<OrderedStacks::Call>& calls_;
  const std::vector<Place>& places_;
  const std::vector<std::uint32_t>&name_rank_, &module_rank_;
  std::vector<TreeNode>& nodes_;
  std::vector<std::uint32_t> marks_;  // by position
  std::vector<Open> open_;
};

}  // namespace

std::optional<PlainTree> PlainTree::of(const model::Profile& profile, const TreeOptions& options,
                                       const StackSums& sums, Places& places) {
  if (!may_be_plain(options, sums)) return std::nullopt;
  PlainTree tree(profile);
  tree.place_of_frame_.reserve(profile.frames.size());
  std::vector<char> taken;  // by place
  for (std::uint32_t frame = 0; frame < profile.frames.size(); ++frame) {
    std::uint32_t count = 0;
    const Places::Line* lines = places.lines({frame}, count);
    if (count != 1) return std::nullopt;
    taken.resize(places.all().size());
    if (std::exchange(taken[lines->place], char{1}) != 0) return std::nullopt;
    tree.place_of_frame_.push_back(lines->place);
  }
  if (options.thread_roots)
    for (const std::string& name : sums.root_names)
      tree.place_of_root_.push_back(places.of_thread(name).place);
  return tree;
}

bool PlainTree::draw(StackSums& sums, const std::vector<Place>& places,
                     const std::vector<std::uint32_t>& name_rank,
                     const std::vector<std::uint32_t>& module_rank, CallTree& tree) const {
  OrderedStacks stacks(*stacks_, place_of_frame_, rank_places(places, name_rank, module_rank));
  if (stacks.has_equal_stacks()) return false;
  for (StackSums::Row& row : sums.rows) row.stack = stacks.position(row.stack);
  Drawing drawing(stacks, places, name_rank, module_rank, tree.nodes);
  const std::size_t roots = std::max<std::size_t>(1, place_of_root_.size());
  // Addresses alone, until there are nodes.
  tree.nodes.reserve(std::min(kMostNodes, stacks_->size() * roots) + roots + 2);
  tree.nodes.push_back({});
  tree.nodes[0].kind = NodeKind::kRoot;
  if (place_of_root_.empty()) {
    drawing.draw(0, sums.rows.data(), sums.rows.data() + sums.rows.size());
  } else {
    std::vector<std::uint32_t> order(place_of_root_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, {},
                      [&](std::uint32_t root) { return name_rank[places[place_of_root_[root]].name]; });
    std::uint32_t last = kNoNode;
    for (const std::uint32_t root : order) {
      const auto first = std::ranges::lower_bound(sums.rows, root, {}, &StackSums::Row::root);
      const auto end = std::ranges::upper_bound(sums.rows, root, {}, &StackSums::Row::root);
      if (first == end) continue;
      last = drawing.append(0, last, place_of_root_[root]);
      drawing.draw(last, &*first, &*first + (end - first));
      tree.nodes[0].total += tree.nodes[last].total;
    }
  }
  tree.total = tree.nodes[0].total;
  return true;
}

}  // namespace fathom::analysis
