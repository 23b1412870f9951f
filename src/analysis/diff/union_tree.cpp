#include "analysis/diff/union_tree.h"

#include <algorithm>
#include <numeric>

#include "analysis/core/stack_sums.h"
#include "analysis/diff/piece_sums.h"
#include "analysis/diff/union_places.h"
#include "model/facts.h"

namespace fathom::analysis {
namespace {

// The values of one piece fit into 64 bits together; those of all pieces of a broken file may not.
void add_up(std::int64_t& sum, std::int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = value > 0 ? INT64_MAX : -INT64_MAX;
}

// One run's values at the nodes of the union.
struct RunValues {
  struct Entry {
    std::uint32_t node = 0, piece = 0;
    std::int64_t value = 0;
  };
  std::vector<Entry> entries;        // by node
  std::vector<std::uint32_t> first;  // by node that existed then: its first entry; one more row at the end
  double effective = 0;
  std::uint64_t samples = 0;
};

// Enters the run's stacks, visiting each row of the stack table once per root: stacks share their outer
// frames.
RunValues enter(const UnionRun& run, Union& all) {
  const model::Profile& profile = *run.profile;
  const PieceSums sums = add_up_pieces(profile, run.options, run.cuts);
  RunPlaces places(run, all);
  std::vector<std::uint32_t> node_of_row(sums.rows.size());
  std::vector<std::uint32_t> node_of_stack(profile.stacks.size()), path;
  constexpr std::uint32_t kNoRoot = ~std::uint32_t{0};
  std::vector<std::uint32_t> entered_for(profile.stacks.size(), kNoRoot);
  std::uint32_t root = kNoRoot;
  const auto add_lines = [&](std::uint32_t node, std::uint32_t stack, std::uint32_t skip) {
    const auto lines = places.lines(profile.stacks[stack].frame);
    for (std::size_t i = lines.size(); i-- > skip;) node = all.child(node, lines[i].place, lines[i].kind);
    return node;
  };
  for (std::size_t i = 0; i < sums.rows.size(); ++i) {
    const PieceSums::Row& row = sums.rows[i];
    if (row.root != root) {
      root = row.root;
      node_of_stack[0] = 0;
      if (run.options.thread_roots) {
        const auto thread = places.of_thread(sums.root_names[root]);
        node_of_stack[0] = all.child(0, thread.place, thread.kind);
      }
      entered_for[0] = root;
    }
    path.clear();
    // A leaf frame with skipped lines is entered separately.
    const bool cut = row.skip != 0 && row.stack != 0;
    std::uint32_t stack = cut ? profile.stacks[row.stack].parent.value : row.stack;
    for (; entered_for[stack] != root; stack = profile.stacks[stack].parent.value) path.push_back(stack);
    std::uint32_t node = node_of_stack[stack];
    for (auto at = path.rbegin(); at != path.rend(); ++at) {
      node = node_of_stack[*at] = add_lines(node, *at, 0);
      entered_for[*at] = root;
    }
    if (cut) node = add_lines(node, row.stack, row.skip);
    if (row.cause != 0) {
      const auto cause = places.of_cause(sums.causes[row.cause]);
      node = all.child(node, cause.place, cause.kind);
    }
    node_of_row[i] = node;
  }
  RunValues values;
  values.effective = sums.effective;
  values.samples = sums.samples;
  // A counting sort: there are many nodes and even more entries.
  values.first.assign(all.node_count() + 1, 0);
  for (const PieceSums::Entry& entry : sums.entries) ++values.first[node_of_row[entry.row] + 1];
  for (std::size_t i = 1; i < values.first.size(); ++i) values.first[i] += values.first[i - 1];
  std::vector<std::uint32_t> next(values.first);
  values.entries.resize(sums.entries.size());
  for (const PieceSums::Entry& entry : sums.entries)
    values.entries[next[node_of_row[entry.row]]++] = {node_of_row[entry.row], entry.piece, entry.value};
  return values;
}

// Adds the run's values to the tables of the union. `first_piece`: the run's first piece, among the pieces of
// all runs.
class RunAdder {
 public:
  RunAdder(UnionTree& tree, const Union& all, const RunValues& values, std::size_t run,
           std::size_t first_piece, std::size_t pieces)
      : tree_(tree), all_(all), values_(values), run_(run), first_(first_piece), pieces_(pieces) {}

  void add() {
    tree_.effective[run_] = values_.effective;
    tree_.samples[run_] = values_.samples;
    for (const RunValues::Entry& entry : values_.entries) {
      add_up(tree_.node_self[entry.node * tree_.runs + run_], entry.value);
      tree_.whole[first_ + entry.piece] += entry.value;
      add_own(entry);
    }
    add_totals();
  }

 private:
  void add_own(const RunValues::Entry& entry) {
    const UnionNode& node = tree_.nodes[entry.node];
    if (node.place == kNoPlace) return;
    tree_.place_self[node.place * tree_.pieces + first_ + entry.piece] += entry.value;
    // A cause is a child of the function that waited: the time is that function's self time.
    const bool is_cause = node.kind == NodeKind::kCause && node.depth > 1;
    const std::uint32_t owner = is_cause ? tree_.nodes[node.parent].place : node.place;
    if (owner != node.place && !is_pseudo(owner))
      tree_.place_self[owner * tree_.pieces + first_ + entry.piece] += entry.value;
    tree_.module_self[tree_.places[owner].module * tree_.pieces + first_ + entry.piece] += entry.value;
  }
  bool is_pseudo(std::uint32_t place) const {
    return tree_.places[place].kind == NodeKind::kThread || tree_.places[place].kind == NodeKind::kCause;
  }

  // Totals by function need the sums below each node by piece. For all nodes they would need more memory than
  // anything else, so only those of one path are kept, from the root to the current node.
  void add_totals() {
    std::vector<std::uint32_t> on_path(tree_.places.size(), 0);
    struct Open {
      std::uint32_t node, next;
    };
    std::vector<Open> open;
    std::vector<std::int64_t> sums;  // [depth * pieces + piece]
    const auto enter = [&](std::uint32_t node) {
      open.push_back({node, all_.first_child()[node]});
      if (sums.size() < open.size() * pieces_) sums.resize(open.size() * pieces_);
      std::int64_t* own = sums.data() + (open.size() - 1) * pieces_;
      std::fill(own, own + pieces_, 0);
      const bool known = node + 1 < values_.first.size();  // later runs have added nodes
      for (std::uint32_t i = known ? values_.first[node] : 0; known && i < values_.first[node + 1]; ++i)
        own[values_.entries[i].piece] += values_.entries[i].value;
      if (node != 0) ++on_path[tree_.nodes[node].place];
    };
    enter(0);
    while (!open.empty()) {
      if (const std::uint32_t child = open.back().next; child != 0) {
        open.back().next = all_.next_sibling()[child];
        enter(child);
        continue;
      }
      const std::uint32_t node = open.back().node;
      open.pop_back();
      if (node == 0) break;
      const std::uint32_t place = tree_.nodes[node].place;
      const std::int64_t* own = sums.data() + open.size() * pieces_;
      std::int64_t* above = sums.data() + (open.size() - 1) * pieces_;
      for (std::size_t i = 0; i < pieces_; ++i) above[i] += own[i];
      if (--on_path[place] != 0) continue;  // recursion counts once
      std::int64_t* total = tree_.place_total.data() + place * tree_.pieces + first_;
      for (std::size_t i = 0; i < pieces_; ++i) total[i] += own[i];
    }
  }

  UnionTree& tree_;
  const Union& all_;
  const RunValues& values_;
  std::size_t run_, first_, pieces_;
};

}  // namespace

UnionTree build_union_tree(const std::vector<UnionRun>& runs) {
  UnionTree tree;
  std::vector<RunValues> values;
  Union all(runs, tree);
  for (const UnionRun& run : runs) values.push_back(enter(run, all));
  tree.node_self.assign(tree.nodes.size() * tree.runs, 0);
  tree.place_self.assign(tree.places.size() * tree.pieces, 0);
  tree.place_total.assign(tree.places.size() * tree.pieces, 0);
  tree.module_self.assign(tree.modules.size() * tree.pieces, 0);
  std::size_t first_piece = 0;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const std::size_t pieces = runs[run].cuts.size() + 1;
    RunAdder(tree, all, values[run], run, first_piece, pieces).add();
    first_piece += pieces;
  }
  return tree;
}

namespace {

// Gives `drawn` the names of `tree` and, as the last one, that of the whole, in their order. Where each of them is now.
std::vector<std::uint32_t> sort_names(const UnionTree& tree, CallTree& drawn) {
  std::vector<std::string> names = tree.names;
  names.push_back("all");
  std::vector<std::uint32_t> order(names.size()), rank(names.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return names[a] < names[b]; });
  drawn.names.clear();
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    drawn.names.push_back(std::move(names[order[i]]));
  }
  return rank;
}

// Children of a node as one range; a vector for each would need more memory than anything else.
struct ChildRanges {
  std::vector<std::uint32_t> first;  // by node, and one more
  std::vector<std::uint32_t> nodes;
};

// In the order of their names. Nodes without a value on either side are not drawn.
ChildRanges sorted_children(const UnionTree& tree, const std::vector<std::int64_t>& total,
                            const std::vector<std::uint32_t>& rank) {
  ChildRanges children;
  std::vector<std::uint32_t>& first = children.first;
  first.assign(tree.nodes.size() + 1, 0);
  for (std::size_t i = 1; i < tree.nodes.size(); ++i)
    if (total[i] > 0) ++first[tree.nodes[i].parent + 1];
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  children.nodes.resize(first.back());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i)
    if (total[i] > 0) children.nodes[next[tree.nodes[i].parent]++] = i;
  const auto key = [&](std::uint32_t node) {
    const UnionPlace& place = tree.places[tree.nodes[node].place];
    return std::tuple(rank[place.name], place.module, place.kind, node);
  };
  for (std::size_t i = 0; i + 1 < first.size(); ++i)
    std::sort(children.nodes.begin() + first[i], children.nodes.begin() + first[i + 1],
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return children;
}

}  // namespace

CallTree as_call_tree(const UnionTree& tree, const std::vector<std::int64_t>& self,
                      std::vector<std::uint32_t>& origin) {
  CallTree drawn;
  const std::vector<std::uint32_t> rank = sort_names(tree, drawn);
  for (const std::string& module : tree.modules) drawn.modules.emplace_back().name = module;
  if (drawn.names.size() > Uint24::kMost || drawn.modules.size() > Uint24::kMost) refuse_large();
  std::vector<std::int64_t> total = self;
  for (std::size_t i = tree.nodes.size(); i-- > 1;) total[tree.nodes[i].parent] += total[i];
  const ChildRanges children = sorted_children(tree, total, rank);
  drawn.nodes.reserve(children.nodes.size() + 1);
  origin.reserve(children.nodes.size() + 1);
  origin.clear();
  struct Open {
    std::uint32_t node, drawn, next;
    std::uint32_t last_child;
  };
  std::vector<Open> open;
  const auto enter = [&](std::uint32_t node, std::uint32_t parent) {
    TreeNode row;
    row.parent = parent;
    row.depth = tree.nodes[node].depth;
    row.kind = tree.nodes[node].kind;
    row.self = self[node];
    row.total = total[node];
    row.name = rank[tree.names.size()];
    if (node != 0) {
      const UnionPlace& place = tree.places[tree.nodes[node].place];
      row.name = rank[place.name];
      row.module = place.module;
    }
    const auto id = static_cast<std::uint32_t>(drawn.nodes.size());
    drawn.nodes.push_back(row);
    origin.push_back(node);
    if (node != 0) {
      Open& above = open.back();
      if (above.last_child != kNoNode) drawn.nodes[above.last_child].next_sibling = id;
      above.last_child = id;
    }
    open.push_back({node, id, children.first[node], kNoNode});
  };
  enter(0, 0);
  while (!open.empty()) {
    Open& top = open.back();
    if (top.next == children.first[top.node + 1]) {
      open.pop_back();
      continue;
    }
    const std::uint32_t next = children.nodes[top.next++];
    enter(next, top.drawn);
  }
  drawn.total = drawn.nodes[0].total;
  return drawn;
}

}  // namespace fathom::analysis
