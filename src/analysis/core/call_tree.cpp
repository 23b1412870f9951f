#include "analysis/core/call_tree.h"

#include <algorithm>

#include "analysis/core/plain_tree.h"
#include "analysis/core/stack_sums.h"
#include "analysis/core/tree_places.h"
#include "base/row_index.h"

namespace fathom::analysis {
namespace {

using model::FrameId;
using model::Profile;

struct DraftNode {
  std::uint32_t parent;
  std::uint32_t place;
};

// Idle waits stand for themselves, without a stack: they begin nowhere.
bool is_idle(const StackSums& sums, const StackSums::Row& row) {
  return row.stack == 0 && sums.causes[row.cause].starts_with("(idle:");
}

// The tree in order of discovery.
class Draft {
 public:
  // `expected`: how many nodes there may be, if that is known; a guess costs nothing but addresses.
  Draft(bool fold_recursion, std::size_t expected) : fold_recursion_(fold_recursion) {
    expected = std::min(expected + 1, kMostNodes);
    nodes_.reserve(expected);
    kinds_.reserve(expected);
    selves_.reserve(expected);
    append({0, kNoPlace}, NodeKind::kRoot);
  }
  std::uint32_t child(std::uint32_t parent, Places::Line line) {
    if (fold_recursion_ && nodes_[parent].place == line.place) {
      if (line.kind == NodeKind::kUser) kinds_[parent] = NodeKind::kUser;
      return parent;
    }
    if (++steps_ > kMostSteps || nodes_.size() > kMostNodes) refuse_large_tree();
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    const std::uint32_t node = children_.find_or_add(
        key_of(parent, line.place), next,
        [&](std::uint32_t known) { return key_of(nodes_[known].parent, nodes_[known].place); });
    if (node == next) {
      append({parent, line.place}, line.kind);
    } else if (line.kind == NodeKind::kUser) {
      kinds_[node] = NodeKind::kUser;
    }
    return node;
  }
  void add(std::uint32_t node, std::int64_t value) { selves_[node] += value; }
  const std::vector<DraftNode>& nodes() const { return nodes_; }
  NodeKind kind(std::uint32_t node) const { return kinds_[node]; }
  std::int64_t self(std::uint32_t node) const { return selves_[node]; }
  // No child is added from here on.
  void forget_index() { children_ = {}; }

 private:
  void append(DraftNode node, NodeKind kind) {
    nodes_.push_back(node);
    kinds_.push_back(kind);
    selves_.push_back(0);
  }
  static std::uint64_t key_of(std::uint32_t parent, std::uint32_t place) {
    return std::uint64_t{parent} << 32 | place;
  }

  bool fold_recursion_;
  std::vector<DraftNode> nodes_;  // apart from the rest, as a search looks at them alone
  std::vector<NodeKind> kinds_;
  std::vector<std::int64_t> selves_;
  std::uint64_t steps_ = 0;
  RowIndex children_;  // all nodes but the root, by parent and place
};

void draw_from_root(const Profile& profile, const TreeOptions& options, const StackSums& sums, Places& places,
                    Draft& draft) {
  // Stacks share their beginnings, so each row of the stack table is entered once per root.
  std::vector<std::uint32_t> node_of_stack(profile.stacks.size());
  std::vector<std::uint32_t> entered_for(profile.stacks.size(), ~std::uint32_t{0});
  std::vector<std::uint32_t> path;
  std::uint32_t root = ~std::uint32_t{0};
  std::vector<char> started_of_stack(places.has_starts() ? profile.stacks.size() : 0);
  bool started = true;
  const auto enter = [&](std::uint32_t node, const Places::Line& line) {
    started |= (line.cut & Places::kStart) != 0;
    return started && (line.cut & Places::kHidden) == 0 ? draft.child(node, line) : node;
  };
  for (const StackSums::Row& row : sums.rows) {
    if (row.root != root) {
      root = row.root;
      node_of_stack[0] = options.thread_roots ? draft.child(0, places.of_thread(sums.root_names[root])) : 0;
      entered_for[0] = root;
    }
    path.clear();
    // A leaf frame of which lines are left out is entered by hand.
    const bool cut = row.skip != 0 && row.stack != 0;
    std::uint32_t stack = cut ? profile.stacks[row.stack].parent.value : row.stack;
    for (; entered_for[stack] != root; stack = profile.stacks[stack].parent.value) path.push_back(stack);
    std::uint32_t node = node_of_stack[stack];
    started = started_of_stack.empty() || started_of_stack[stack] != 0;
    for (auto at = path.rbegin(); at != path.rend(); ++at) {
      std::uint32_t count = 0;
      const Places::Line* lines = places.lines(profile.stacks[*at].frame, count);
      for (std::uint32_t i = count; i-- > 0;) node = enter(node, lines[i]);
      node_of_stack[*at] = node;
      if (!started_of_stack.empty()) started_of_stack[*at] = started ? 1 : 0;
      entered_for[*at] = root;
    }
    if (cut) {
      std::uint32_t count = 0;
      const Places::Line* lines = places.lines(profile.stacks[row.stack].frame, count);
      for (std::uint32_t i = count; i-- > row.skip;) node = enter(node, lines[i]);
    }
    if (is_idle(sums, row)) started = true;
    if (row.cause != 0) node = enter(node, places.of_cause(sums.causes[row.cause]));
    draft.add(node, row.value);
  }
}

void draw_from_leaf(const Profile& profile, const TreeOptions& options, const StackSums& sums, Places& places,
                    Draft& draft) {
  std::vector<Places::Line> calls;  // of a row, the innermost first
  for (const StackSums::Row& row : sums.rows) {
    calls.clear();
    if (row.cause != 0) calls.push_back(places.of_cause(sums.causes[row.cause]));
    for (std::uint32_t stack = row.stack; stack != 0; stack = profile.stacks[stack].parent.value) {
      std::uint32_t count = 0;
      const Places::Line* lines = places.lines(profile.stacks[stack].frame, count);
      for (std::uint32_t i = stack == row.stack ? row.skip : 0; i < count; ++i) calls.push_back(lines[i]);
    }
    if (places.has_starts() && !is_idle(sums, row))
      while (!calls.empty() && (calls.back().cut & Places::kStart) == 0) calls.pop_back();
    std::uint32_t node = 0;
    for (const Places::Line& line : calls)
      if ((line.cut & Places::kHidden) == 0) node = draft.child(node, line);
    if (options.thread_roots) node = draft.child(node, places.of_thread(sums.root_names[row.root]));
    draft.add(node, row.value);
  }
}

// Keeps the rows that a node uses, and the first `always`.
template <class Row>
void keep_used(std::vector<Row>& rows, std::uint32_t always, std::vector<TreeNode>& nodes,
               Uint24 TreeNode::*field) {
  std::vector<std::uint32_t> moved(rows.size(), 0);
  for (const TreeNode& node : nodes) moved[node.*field] = 1;
  std::fill_n(moved.begin(), always, 1);
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (moved[i] == 0) continue;
    if (kept != i) rows[kept] = std::move(rows[i]);
    moved[i] = kept++;
  }
  rows.resize(kept);
  for (TreeNode& node : nodes) node.*field = moved[node.*field];
}

// Brings the draft in its final order and adds up the totals.
void arrange(const Draft& draft, const std::vector<Place>& places,
             const std::vector<std::uint32_t>& name_rank, const std::vector<std::uint32_t>& module_rank,
             CallTree& tree) {
  const std::vector<DraftNode>& from = draft.nodes();
  const std::vector<std::uint32_t> rank = rank_places(places, name_rank, module_rank);
  const Children children = Children::of(
      from.size(), [&](std::uint32_t node) { return from[node].parent; },
      [&](std::uint32_t node) { return rank[from[node].place]; });

  tree.nodes.reserve(from.size());
  tree.nodes.push_back({});
  tree.nodes[0].kind = NodeKind::kRoot;
  tree.nodes[0].self = draft.self(0);
  struct Open {
    std::uint32_t draft, node;
    std::uint32_t next_child, last_child;
  };
  std::vector<Open> open{{0, 0, children.first[0], kNoNode}};
  while (!open.empty()) {
    Open& top = open.back();
    if (top.next_child == children.first[top.draft + 1]) {
      const TreeNode& done = tree.nodes[top.node];
      open.pop_back();
      if (!open.empty()) tree.nodes[open.back().node].total += done.total;
      continue;
    }
    const std::uint32_t child = children.order[top.next_child++];
    const auto id = static_cast<std::uint32_t>(tree.nodes.size());
    if (top.last_child != kNoNode) tree.nodes[top.last_child].next_sibling = id;
    top.last_child = id;
    const Place& place = places[from[child].place];
    TreeNode node;
    node.parent = top.node;
    node.name = name_rank[place.name];
    node.module = module_rank[place.module];
    node.depth = tree.nodes[top.node].depth + 1;
    node.kind = draft.kind(child);
    node.self = node.total = draft.self(child);
    tree.nodes.push_back(node);
    open.push_back({child, id, children.first[child], kNoNode});
  }
  tree.nodes[0].total += tree.nodes[0].self;
  tree.total = tree.nodes[0].total;
}

}  // namespace

NodeKind kind_of_code(const Profile& profile, model::ModuleId id, bool named) {
  const model::Module& module = profile.modules[id.value];
  if (module.kind == model::ModuleKind::kKernel) return NodeKind::kKernel;
  if (module.kind == model::ModuleKind::kUnknown && !named) return NodeKind::kOther;
  if (module.kind == model::ModuleKind::kNames && profile.strings[module.name] == kCauseModule)
    return NodeKind::kCause;
  return NodeKind::kUser;
}

CallTree build_call_tree(const Profile& profile, const TreeOptions& options) {
  CallTree tree;
  tree.metric = options.selection.metric;
  tree.unit = unit_of(profile, options.selection);
  Places places(profile, options.fold_generics, options.selection.tracer, options.selection.stacks.get());
  StackSums sums = add_up_stacks(profile, options, tree);
  const auto plain = PlainTree::of(profile, options, sums, places);
  Draft draft(options.fold_recursion, options.reverse ? 0 : profile.stacks.size());
  const auto make_draft = [&] {
    if (options.reverse)
      draw_from_leaf(profile, options, sums, places, draft);
    else
      draw_from_root(profile, options, sums, places, draft);
    sums = {};
    draft.forget_index();  // all of this together would be as large as the tree
  };
  if (!plain) make_draft();

  tree.names = places.take_names();
  tree.names.push_back("all");
  const std::uint32_t all = static_cast<std::uint32_t>(tree.names.size() - 1);
  const std::vector<std::uint32_t> name_rank = sort_and_rank(tree.names);
  tree.modules.push_back({});  // "no module" sorts first: every other row has a name or a kind
  for (std::size_t i = 1; i < profile.modules.size(); ++i) {
    const model::Module& module = profile.modules[i];
    const auto text = [&](model::StringId id) { return std::string(profile.strings[id]); };
    tree.modules.push_back({text(module.name), text(module.path), text(module.build_id),
                            text(module.symbols_path), module.kind, module.symbols});
  }
  const std::vector<std::uint32_t> module_rank = sort_and_rank(tree.modules);
  if (tree.names.size() > Uint24::kMost || tree.modules.size() > Uint24::kMost) refuse_large_tree();
  if (!plain || !plain->draw(sums, places.all(), name_rank, module_rank, tree)) {
    if (plain) make_draft();  // `places` has all of its names already
    arrange(draft, places.all(), name_rank, module_rank, tree);
  }
  sums = {};
  tree.nodes[0].name = name_rank[all];
  keep_used(tree.names, 0, tree.nodes,
            &TreeNode::name);  // a user who hides a call does not want to see its name
  keep_used(tree.modules, 1, tree.nodes, &TreeNode::module);  // row 0 is "no module"
  return tree;
}

std::vector<StackValue> stack_values(const Profile& profile, const Selection& selection) {
  CallTree tree;
  tree.metric = selection.metric;
  tree.unit = unit_of(profile, selection);
  const TreeOptions options{.selection = selection, .thread_roots = false};
  std::vector<StackValue> values;
  for (const StackSums::Row& row : add_up_stacks(profile, options, tree).rows)
    values.push_back({{row.stack}, row.skip, row.value});
  return values;
}

std::string frame_name(const Profile& profile, FrameId id, std::uint32_t line) {
  const model::Frame& frame = profile.frames[id.value];
  if (line >= frame.line_count) return profile.pseudo_name(frame);
  return std::string(
      profile.strings[profile.functions[profile.lines[frame.first_line + line].function.value].name]);
}

std::string thread_name(const Profile& profile, model::ThreadId id) {
  const model::Thread& thread = profile.threads[id.value];
  const std::string_view name = profile.strings[thread.name];
  return name.empty() ? "[thread " + std::to_string(thread.tid) + "]" : std::string(name);
}

}  // namespace fathom::analysis
