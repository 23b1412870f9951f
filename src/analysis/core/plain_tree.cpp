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

// The nodes of one tree, depth first.
class Drawing {
 public:
  Drawing(const std::vector<model::Stack>& stacks, const std::vector<std::uint32_t>& place_of_frame,
          const std::vector<Place>& places, const std::vector<std::uint32_t>& name_rank,
          const std::vector<std::uint32_t>& module_rank, std::vector<TreeNode>& nodes)
      : stacks_(stacks),
        place_of_frame_(place_of_frame),
        places_(places),
        name_rank_(name_rank),
        module_rank_(module_rank),
        nodes_(nodes),
        marks_(stacks.size()) {
    const std::vector<std::uint32_t> rank = rank_places(places, name_rank, module_rank);
    children_ = Children::of(
        stacks.size(), [&](std::uint32_t stack) { return stacks[stack].parent.value; },
        [&](std::uint32_t stack) { return rank[place_of_frame[stacks[stack].frame.value]]; });
  }

  bool has_equal_stacks() const { return children_.has_equal; }

  // Of one root, whose node is there: its rows, and all that is above them.
  void draw(std::uint32_t root, const StackSums::Row* begin, const StackSums::Row* end) {
    for (const StackSums::Row* row = begin; row != end; ++row) {
      for (std::uint32_t at = row->stack; at != 0 && marks_[at] == 0; at = stacks_[at].parent.value)
        marks_[at] = kOnPath;
      if (row->stack == 0)
        nodes_[root].self = nodes_[root].total = row->value;
      else
        marks_[row->stack] = kFirstRow + static_cast<std::uint32_t>(row - begin);
    }
    open_.assign(1, {root, children_.first[0], children_.first[1], kNoNode});
    while (!open_.empty()) {
      Open& top = open_.back();
      if (top.next == top.end) {
        close();
        continue;
      }
      const std::uint32_t stack = children_.order[top.next++];
      const std::uint32_t mark = marks_[stack];
      if (mark == 0) continue;
      marks_[stack] = 0;
      const std::uint32_t node =
          append(top.node, top.last_child, place_of_frame_[stacks_[stack].frame.value]);
      top.last_child = node;
      if (mark >= kFirstRow) nodes_[node].self = nodes_[node].total = begin[mark - kFirstRow].value;
      open_.push_back({node, children_.first[stack], children_.first[stack + 1], kNoNode});
    }
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
    std::uint32_t node, next, end, last_child;
  };

  void close() {
    const std::int64_t total = nodes_[open_.back().node].total;
    open_.pop_back();
    if (!open_.empty()) nodes_[open_.back().node].total += total;
  }

  const std::vector<model::Stack>& stacks_;
  const std::vector<std::uint32_t>& place_of_frame_;
  const std::vector<Place>& places_;
  const std::vector<std::uint32_t>&name_rank_, &module_rank_;
  std::vector<TreeNode>& nodes_;
  Children children_;
  std::vector<std::uint32_t> marks_;  // by stack
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

bool PlainTree::draw(const StackSums& sums, const std::vector<Place>& places,
                     const std::vector<std::uint32_t>& name_rank,
                     const std::vector<std::uint32_t>& module_rank, CallTree& tree) const {
  Drawing drawing(*stacks_, place_of_frame_, places, name_rank, module_rank, tree.nodes);
  if (drawing.has_equal_stacks()) return false;
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
