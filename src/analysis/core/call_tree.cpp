#include "analysis/core/call_tree.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "analysis/core/flat_map.h"
#include "analysis/core/fold_generics.h"
#include "analysis/core/heap.h"
#include "analysis/core/tracer_frames.h"
#include "analysis/core/waits.h"

namespace fathom::analysis {
namespace {

using model::FrameId;
using model::Profile;

// What makes two siblings one node: the name and the module. Numbered, so that the tree is built on integers.
struct Place {
  std::uint32_t name;
  std::uint32_t module;  // row of Profile::modules
  NodeKind kind;         // as first seen; a place that is also called for real is no kInlined
};

struct DraftNode {
  std::uint32_t parent;
  std::uint32_t place;
  NodeKind kind;
  std::int64_t self = 0;
};

constexpr std::uint32_t kNoPlace = ~std::uint32_t{0};

// Places of one profile, found by frame. Names are folded and joined once per function, not once per node.
class Places {
 public:
  Places(const Profile& profile, bool fold, bool tracer)
      : profile_(profile),
        fold_(fold),
        left_out_(tracer ? std::nullopt : tracer_module(profile)),
        first_(profile.frames.size(), kNoPlace),
        functions_(profile.functions.size(), kNoPlace) {}

  struct Line {
    std::uint32_t place;
    NodeKind kind;
  };
  // The lines of a frame, innermost first; at least one, but of the heap tracer's frames. Valid until the next call.
  const Line* lines(FrameId id, std::uint32_t& count) {
    const model::Frame& frame = profile_.frames[id.value];
    count = 0;
    if (left_out_ && frame.module == *left_out_) return nullptr;
    count = frame.line_count == 0 ? 1 : frame.line_count;
    std::uint32_t& first = first_[id.value];
    if (first == kNoPlace) {
      const auto start = static_cast<std::uint32_t>(lines_.size());
      if (frame.line_count == 0) {
        lines_.push_back(of_name(profile_.pseudo_name(frame), frame.module, kind_of(frame.module, false)));
      }
      for (std::uint32_t i = 0; i < frame.line_count; ++i) {
        const model::Line& line = profile_.lines[frame.first_line + i];
        lines_.push_back(of_function(line.function, i + 1 < frame.line_count));
      }
      first = start;
    }
    return lines_.data() + first;
  }
  Line of_thread(const std::string& name) { return of_name(name, {0}, NodeKind::kThread); }
  Line of_cause(const std::string& name) { return of_name(name, {0}, NodeKind::kCause); }

  const std::vector<Place>& all() const { return places_; }
  std::vector<std::string> take_names() { return std::move(names_); }

 private:
  NodeKind kind_of(model::ModuleId id, bool named) const {
    const model::Module& module = profile_.modules[id.value];
    if (module.kind == model::ModuleKind::kKernel) return NodeKind::kKernel;
    if (module.kind == model::ModuleKind::kUnknown && !named) return NodeKind::kOther;
    if (module.kind == model::ModuleKind::kNames && profile_.strings[module.name] == kCauseModule) {
      return NodeKind::kCause;
    }
    return NodeKind::kUser;
  }

  Line of_function(model::FunctionId id, bool inlined) {
    const model::Function& function = profile_.functions[id.value];
    NodeKind kind = kind_of(function.module, true);
    std::uint32_t& place = functions_[id.value];
    if (place == kNoPlace) {
      const std::string_view name = profile_.strings[function.name];
      place = of_name(fold_ ? fold_generics(name) : std::string(name), function.module, kind).place;
    }
    if (inlined && kind == NodeKind::kUser) kind = NodeKind::kInlined;
    return {place, kind};
  }

  Line of_name(std::string name, model::ModuleId module, NodeKind kind) {
    const auto [named, new_name] = name_ids_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (new_name) names_.push_back(std::move(name));
    // A thread, a cause and a function of the same name are three places.
    const bool pseudo = module.value == 0 && (kind == NodeKind::kThread || kind == NodeKind::kCause);
    const std::uint64_t mark = !pseudo ? 0 : std::uint64_t{kind == NodeKind::kThread ? 2u : 1u} << 62;
    std::uint32_t& known = place_ids_[(std::uint64_t{named->second} << 32 | module.value) ^ mark];
    if (known == 0) {
      places_.push_back({named->second, module.value, kind});
      known = static_cast<std::uint32_t>(places_.size());
    }
    return {known - 1, kind};
  }

  const Profile& profile_;
  bool fold_;
  std::optional<model::ModuleId> left_out_;
  std::vector<std::uint32_t> first_;      // per frame: row of lines_
  std::vector<std::uint32_t> functions_;  // per function: its place
  std::vector<Line> lines_;
  std::vector<Place> places_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> name_ids_;
  FlatMap<std::uint32_t> place_ids_;  // place number + 1
};

// The selected samples and waits, added up per (root, stack, cause).
struct Sums {
  struct Row {
    std::uint32_t root;
    std::uint32_t stack;
    std::uint8_t cause;  // row of causes; 0: it ran
    std::int64_t value;
    std::uint32_t skip = 0;  // lines of the leaf frame, innermost first, that are left out
  };
  std::vector<Row> rows;  // sorted by root, stack and cause
  std::vector<std::string> root_names;
  std::vector<std::string> causes{""};  // names of frames
};

class Adder {
 public:
  Adder(const Profile& profile, const TreeOptions& options, CallTree& tree)
      : profile_(profile), options_(options), tree_(tree), by_cause_(1) {}

  Sums add_up() {
    name_roots();
    const model::Metric metric = tree_.metric;
    add_samples();
    if (metric == model::Metric::kOffCpu || metric == model::Metric::kWall) add_waits();
    if (model::is_heap(metric) && !profile_.heap.empty()) add_heap();
    if (variance_ > 0) {
      tree_.effective_samples = std::min(kExact, weights_ * weights_ / variance_);
    } else if (tree_.waits > 0 || (model::is_heap(metric) && tree_.samples > 0)) {
      tree_.effective_samples = kExact;
    }
    for (std::size_t cause = 0; cause < by_cause_.size(); ++cause) {
      by_cause_[cause].for_each([&](std::uint64_t key, std::int64_t value) {
        sums_.rows.push_back({static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key),
                              static_cast<std::uint8_t>(cause), value});
      });
    }
    std::sort(sums_.rows.begin(), sums_.rows.end(), [](const Sums::Row& a, const Sums::Row& b) {
      return std::tie(a.root, a.stack, a.cause, a.skip) < std::tie(b.root, b.stack, b.cause, b.skip);
    });
    return std::move(sums_);
  }

 private:
  void name_roots() {
    root_of_thread_.assign(profile_.threads.size(), 0);
    if (!options_.thread_roots) return;
    std::unordered_map<std::string, std::uint32_t> ids;
    for (std::uint32_t i = 0; i < profile_.threads.size(); ++i) {
      std::string name = thread_name(profile_, {i});
      const auto [root, added] = ids.try_emplace(name, static_cast<std::uint32_t>(ids.size()));
      if (added) sums_.root_names.push_back(std::move(name));
      root_of_thread_[i] = root->second;
    }
  }

  void add(model::ThreadId thread, std::uint32_t stack, std::uint8_t cause, std::int64_t value) {
    by_cause_[cause][std::uint64_t{root_of_thread_[thread.value]} << 32 | stack] += value;
  }

  void add_samples() {
    const Filter filter(profile_, options_.selection);
    const bool counts = tree_.unit == "samples";  // a value of 3 is three samples of weight 1
    const bool wall = tree_.metric == model::Metric::kWall;
    const double period = wall ? sample_period_ns(profile_) : 1;
    for (const model::Sample& sample : profile_.samples) {
      if (!filter.takes(sample) || period == 0) {
        if (period != 0 && filter.is_left_to_tracer(sample))
          add_up(tree_.tracer, value_of(sample, tree_.metric, period));
        else if (filter.concerns(sample))
          ++tree_.filtered;
        continue;
      }
      ++tree_.samples;
      const std::int64_t value = budget_.take(value_of(sample, tree_.metric, period));
      const auto weight = static_cast<double>(value);
      weights_ += weight;
      variance_ += counts ? weight : weight * weight;
      add(sample.thread, sample.stack.value, 0, value);
    }
  }

  static void add_up(std::int64_t& sum, std::int64_t value) {
    if (value > 0 && __builtin_add_overflow(sum, value, &sum)) sum = INT64_MAX;
  }

  void add_waits() {
    const Waits waits(profile_, options_.selection);
    tree_.filtered += waits.filtered();
    std::unordered_set<std::uint32_t> idle_threads;
    for (const SelectedWait& row : waits.rows()) {
      const model::Wait& wait = waits.wait(row);
      const bool dropped = row.idle && options_.drop_idle;
      if (dropped) {
        idle_threads.insert(wait.thread.value);
        if (__builtin_add_overflow(tree_.idle_ns, weighted_ns(row.waited_ns, row.weight), &tree_.idle_ns))
          tree_.idle_ns = INT64_MAX;
        if (row.queued_ns == 0) continue;
      }
      ++tree_.samples;
      ++tree_.waits;
      if (row.waited_ns != 0 && !dropped) {
        const bool folded = row.idle && options_.selection.fold_idle;
        const std::uint8_t cause =
            folded ? cause_row(128u + *row.idle, [&] { return waits.idle().frame(*row.idle); })
                   : cause_row(row.cause);
        add_wait(wait.thread, folded ? 0 : wait.stack.value, cause, row.waited_ns, row.weight);
      }
      if (row.queued_ns != 0)
        add_wait(wait.thread, wait.stack.value, cause_row(row.queue_cause), row.queued_ns, row.weight);
    }
    tree_.idle_threads = idle_threads.size();
  }

  // Without the kernel's frames at the leaf; of a kernel's thread, which has no others, all.
  std::uint32_t user_part(std::uint32_t stack) const {
    for (std::uint32_t at = stack; at != 0; at = profile_.stacks[at].parent.value) {
      const model::Frame& frame = profile_.frames[profile_.stacks[at].frame.value];
      if (profile_.modules[frame.module.value].kind != model::ModuleKind::kKernel) return at;
    }
    return stack;
  }

  void add_heap() {
    const HeapSums heap(profile_, options_.selection);
    const HeapUnit unit = unit_of_heap(options_.selection);
    HeapLeaves leaves(profile_, options_.selection, false);
    std::vector<double> sums;  // of the rows from `first` on
    std::unordered_map<std::uint64_t, std::size_t> rows;
    const std::size_t first = sums_.rows.size();
    for (std::uint32_t i = 0; i < profile_.heap.sites.size(); ++i) {
      if (!heap.takes({i})) {
        ++tree_.filtered;
        continue;
      }
      const HeapAmount amount = heap.value({i}, tree_.metric, unit);
      if (amount.value == 0 && amount.variance == 0) continue;
      ++tree_.samples;
      variance_ += amount.variance;
      const model::HeapSite& site = profile_.heap.sites[i];
      const HeapLeaf leaf = leaves.of(site.stack);
      const std::uint32_t root =
          site.thread == model::kNoThread ? root_of_no_thread() : root_of_thread_[site.thread.value];
      // Stacks of one row differ in `skip` only if they are different stacks.
      const auto [found, added] = rows.try_emplace(std::uint64_t{root} << 32 | leaf.stack.value, sums.size());
      if (added) {
        sums.push_back(0);
        sums_.rows.push_back({root, leaf.stack.value, 0, 0, leaf.skip});
      }
      sums[found->second] += amount.value;
    }
    // Estimates are no whole numbers. Rounding the running sum and not each row keeps the total right.
    double grown = 0, shrunk = 0;
    std::int64_t written = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] < 0) {
        shrunk -= sums[i];
        continue;
      }
      grown += sums[i];
      Sums::Row& row = sums_.rows[first + i];
      row.value = budget_.take(whole(grown) - written);
      written += row.value;
      weights_ += static_cast<double>(row.value);
    }
    tree_.shrunk = whole(shrunk);
  }

  static std::int64_t whole(double value) { return std::llround(std::min(value, 4e18)); }

  // Where threads were not told apart.
  std::uint32_t root_of_no_thread() {
    if (!options_.thread_roots) return 0;
    if (!root_of_no_thread_) {
      root_of_no_thread_ = static_cast<std::uint32_t>(sums_.root_names.size());
      sums_.root_names.push_back("[all threads]");
    }
    return *root_of_no_thread_;
  }

  void add_wait(model::ThreadId thread, std::uint32_t stack, std::uint8_t cause, std::uint64_t ns,
                std::uint32_t weight) {
    const std::int64_t value = budget_.take(weighted_ns(ns, weight));
    const auto duration = static_cast<double>(ns);
    weights_ += static_cast<double>(value);
    variance_ += duration * duration * static_cast<double>(weight) * (static_cast<double>(weight) - 1);
    add(thread, options_.fold_kernel ? user_part(stack) : stack, cause, value);
  }

  std::uint8_t cause_row(Cause cause) {
    return cause_row(static_cast<std::uint32_t>(cause), [&] { return std::string(frame_of(cause)); });
  }
  // Each used cause gets a row and a map; `number` is a Cause, or 128 + an idle rule.
  template <class Name>
  std::uint8_t cause_row(std::uint32_t number, Name name) {
    std::uint8_t& row = cause_rows_[number];
    if (row == 0) {
      row = static_cast<std::uint8_t>(by_cause_.size());
      by_cause_.emplace_back();
      sums_.causes.push_back(name());
    }
    return row;
  }

  const Profile& profile_;
  const TreeOptions& options_;
  CallTree& tree_;
  Sums sums_;
  std::vector<std::uint32_t> root_of_thread_;
  std::optional<std::uint32_t> root_of_no_thread_;
  std::vector<FlatMap<std::int64_t>> by_cause_;  // key: root and stack
  std::array<std::uint8_t, 256> cause_rows_{};
  ValueBudget budget_;
  double weights_ = 0, variance_ = 0;
};

// A tree beyond this is no use to anybody, and a recording made to harm could ask for one of any size: a long
// stack for each of many threads is told in a few bytes. As with memory that is not there, the way out is an
// exception to main.
constexpr std::size_t kMostNodes = 16'000'000;
constexpr std::uint64_t kMostSteps = 1'000'000'000;

// The tree in order of discovery.
class Draft {
 public:
  explicit Draft(bool fold_recursion) : fold_recursion_(fold_recursion) {
    nodes_.push_back({0, kNoPlace, NodeKind::kRoot});
  }
  std::uint32_t child(std::uint32_t parent, Places::Line line) {
    if (fold_recursion_ && nodes_[parent].place == line.place) {
      if (line.kind == NodeKind::kUser) nodes_[parent].kind = NodeKind::kUser;
      return parent;
    }
    if (++steps_ > kMostSteps || nodes_.size() > kMostNodes)
      throw std::length_error(
          "the call tree is too large: more than 16 million nodes, or a billion frames to place");
    std::uint32_t& node = children_[std::uint64_t{parent} << 32 | line.place];
    if (node == 0) {
      node = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({parent, line.place, line.kind});
    } else if (line.kind == NodeKind::kUser) {
      nodes_[node].kind = NodeKind::kUser;
    }
    return node;
  }
  void add(std::uint32_t node, std::int64_t value) { nodes_[node].self += value; }
  const std::vector<DraftNode>& nodes() const { return nodes_; }

 private:
  bool fold_recursion_;
  std::vector<DraftNode> nodes_;
  std::uint64_t steps_ = 0;
  FlatMap<std::uint32_t> children_;  // never 0: the root is nobody's child
};

void draw_from_root(const Profile& profile, const TreeOptions& options, const Sums& sums, Places& places,
                    Draft& draft) {
  // Stacks share their beginnings, so each row of the stack table is entered once per root.
  std::vector<std::uint32_t> node_of_stack(profile.stacks.size());
  std::vector<std::uint32_t> entered_for(profile.stacks.size(), ~std::uint32_t{0});
  std::vector<std::uint32_t> path;
  std::uint32_t root = ~std::uint32_t{0};
  for (const Sums::Row& row : sums.rows) {
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
    for (auto at = path.rbegin(); at != path.rend(); ++at) {
      std::uint32_t count = 0;
      const Places::Line* lines = places.lines(profile.stacks[*at].frame, count);
      for (std::uint32_t i = count; i-- > 0;) node = draft.child(node, lines[i]);
      node_of_stack[*at] = node;
      entered_for[*at] = root;
    }
    if (cut) {
      std::uint32_t count = 0;
      const Places::Line* lines = places.lines(profile.stacks[row.stack].frame, count);
      for (std::uint32_t i = count; i-- > row.skip;) node = draft.child(node, lines[i]);
    }
    if (row.cause != 0) node = draft.child(node, places.of_cause(sums.causes[row.cause]));
    draft.add(node, row.value);
  }
}

void draw_from_leaf(const Profile& profile, const TreeOptions& options, const Sums& sums, Places& places,
                    Draft& draft) {
  for (const Sums::Row& row : sums.rows) {
    std::uint32_t node = row.cause == 0 ? 0 : draft.child(0, places.of_cause(sums.causes[row.cause]));
    for (std::uint32_t stack = row.stack; stack != 0; stack = profile.stacks[stack].parent.value) {
      std::uint32_t count = 0;
      const Places::Line* lines = places.lines(profile.stacks[stack].frame, count);
      for (std::uint32_t i = stack == row.stack ? row.skip : 0; i < count; ++i)
        node = draft.child(node, lines[i]);
    }
    if (options.thread_roots) node = draft.child(node, places.of_thread(sums.root_names[row.root]));
    draft.add(node, row.value);
  }
}

// rank[i]: the place of texts[i] among all in order.
template <class Row>
std::vector<std::uint32_t> sort_and_rank(std::vector<Row>& rows) {
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return rows[a] < rows[b]; });
  std::vector<std::uint32_t> rank(rows.size());
  std::vector<Row> sorted(rows.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    sorted[i] = std::move(rows[order[i]]);
  }
  rows = std::move(sorted);
  return rank;
}

// Keeps the rows that a node uses and the first, which stands for "none" ("" and "no module").
template <class Row>
void keep_used(std::vector<Row>& rows, std::vector<TreeNode>& nodes, std::uint32_t TreeNode::*field) {
  std::vector<std::uint32_t> moved(rows.size(), 0);
  for (const TreeNode& node : nodes) moved[node.*field] = 1;
  moved[0] = 1;
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (moved[i] == 0) continue;
    if (kept != i) rows[kept] = std::move(rows[i]);
    moved[i] = kept++;
  }
  rows.resize(kept);
  for (TreeNode& node : nodes) node.*field = moved[node.*field];
}

// Children of each node as one run of `order`, sorted by place; first[node] is where its run starts. Two
// counting sorts: a comparison per pair would look up three tables each time.
std::vector<std::uint32_t> sort_children(const std::vector<DraftNode>& nodes,
                                         const std::vector<std::uint32_t>& place_rank,
                                         std::vector<std::uint32_t>& first) {
  std::vector<std::uint32_t> start(place_rank.size() + 1, 0);
  for (std::size_t i = 1; i < nodes.size(); ++i) ++start[place_rank[nodes[i].place] + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::uint32_t> by_place(nodes.size() - 1);
  for (std::uint32_t i = 1; i < nodes.size(); ++i) by_place[start[place_rank[nodes[i].place]]++] = i;

  first.assign(nodes.size() + 1, 0);
  for (std::size_t i = 1; i < nodes.size(); ++i) ++first[nodes[i].parent + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  std::vector<std::uint32_t> order(nodes.size() - 1);
  for (const std::uint32_t node : by_place) order[next[nodes[node].parent]++] = node;
  return order;
}

// The place of each place among all by name, module and kind.
std::vector<std::uint32_t> rank_places(const std::vector<Place>& places,
                                       const std::vector<std::uint32_t>& name_rank,
                                       const std::vector<std::uint32_t>& module_rank) {
  std::vector<std::uint32_t> order(places.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto key = [&](std::uint32_t place) {
    return std::tuple(name_rank[places[place].name], module_rank[places[place].module], places[place].kind);
  };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  std::vector<std::uint32_t> rank(places.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  return rank;
}

// Brings the draft in its final order and adds up the totals.
void arrange(const Draft& draft, const std::vector<Place>& places,
             const std::vector<std::uint32_t>& name_rank, const std::vector<std::uint32_t>& module_rank,
             CallTree& tree) {
  const std::vector<DraftNode>& from = draft.nodes();
  std::vector<std::uint32_t> first;
  const std::vector<std::uint32_t> order =
      sort_children(from, rank_places(places, name_rank, module_rank), first);

  tree.nodes.reserve(from.size());
  tree.nodes.push_back({});
  tree.nodes[0].kind = NodeKind::kRoot;
  tree.nodes[0].self = from[0].self;
  struct Open {
    std::uint32_t draft, node;
    std::uint32_t next_child, last_child;
  };
  std::vector<Open> open{{0, 0, first[0], kNoNode}};
  while (!open.empty()) {
    Open& top = open.back();
    if (top.next_child == first[top.draft + 1]) {
      const TreeNode& done = tree.nodes[top.node];
      open.pop_back();
      if (!open.empty()) tree.nodes[open.back().node].total += done.total;
      continue;
    }
    const std::uint32_t child = order[top.next_child++];
    const auto id = static_cast<std::uint32_t>(tree.nodes.size());
    (top.last_child == kNoNode ? tree.nodes[top.node].first_child : tree.nodes[top.last_child].next_sibling) =
        id;
    top.last_child = id;
    const Place& place = places[from[child].place];
    TreeNode node;
    node.parent = top.node;
    node.name = name_rank[place.name];
    node.module = module_rank[place.module];
    node.depth = tree.nodes[top.node].depth + 1;
    node.kind = from[child].kind;
    node.self = node.total = from[child].self;
    tree.nodes.push_back(node);
    open.push_back({child, id, first[child], kNoNode});
  }
  tree.nodes[0].total += tree.nodes[0].self;
  tree.total = tree.nodes[0].total;
}

}  // namespace

CallTree build_call_tree(const Profile& profile, const TreeOptions& options) {
  CallTree tree;
  tree.metric = options.selection.metric;
  tree.unit = unit_of(profile, options.selection);
  const Sums sums = Adder(profile, options, tree).add_up();
  Places places(profile, options.fold_generics, options.selection.tracer);
  Draft draft(options.fold_recursion);
  if (options.reverse) {
    draw_from_leaf(profile, options, sums, places, draft);
  } else {
    draw_from_root(profile, options, sums, places, draft);
  }

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
  arrange(draft, places.all(), name_rank, module_rank, tree);
  tree.nodes[0].name = name_rank[all];
  keep_used(tree.modules, tree.nodes, &TreeNode::module);
  return tree;
}

std::vector<StackValue> stack_values(const Profile& profile, const Selection& selection) {
  CallTree tree;
  tree.metric = selection.metric;
  tree.unit = unit_of(profile, selection);
  const TreeOptions options{.selection = selection, .thread_roots = false};
  std::vector<StackValue> values;
  for (const Sums::Row& row : Adder(profile, options, tree).add_up().rows)
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
