#include "analysis/diff/union_tree.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "analysis/core/functions.h"
#include "analysis/core/source_facts.h"
#include "analysis/diff/stable_name.h"
#include "model/nameless_function.h"

namespace fathom::analysis {
namespace {

constexpr std::string_view kProgram =
    "[program]";  // the key of the program itself, whatever its file is called

// The file of a function that has an address instead of a name, "[libx.so.1+0x10]" or, where its bounds are known,
// "libx.so.1@fde+0x10"; "" of every other name.
std::string file_of_address(std::string_view name) {
  if (const auto nameless = model::nameless_function(name)) return std::string(nameless->module);
  const std::size_t address = name.rfind("+0x");
  return is_unnamed(name) && address != std::string_view::npos ? std::string(name.substr(1, address - 1))
                                                               : "";
}

// What a module is called in all runs, and whether addresses in it mean the same in all of them.
class ModuleKeys {
 public:
  explicit ModuleKeys(const std::vector<UnionRun>& runs) {
    for (const UnionRun& run : runs) {
      if (run.profile->meta.engine == "import") names_only_ = true;
    }
    for (const UnionRun& run : runs) {
      const model::Profile& profile = *run.profile;
      for (const model::Module& module : profile.modules) {
        TreeModule row;
        row.name = profile.strings[module.name];
        row.path = profile.strings[module.path];
        row.kind = module.kind;
        builds_[key_of(profile, row)].insert(std::string(profile.strings[module.build_id]));
      }
    }
  }

  // "": modules are not told apart.
  std::string key_of(const model::Profile& profile, const TreeModule& module) const {
    if (module.name == kCauseModule) return module.name;
    // Text of other tools names a function and no file, or a file of another name.
    if (names_only_) return "";
    if (module.kind == model::ModuleKind::kFile && !profile.processes.empty() &&
        profile.strings[profile.processes.front().executable] == module.path && !module.path.empty())
      return std::string(kProgram);
    return stable_module(module.name);
  }
  // One file: an address is the same code everywhere.
  bool is_one_build(const std::string& key) const {
    const auto found = builds_.find(key);
    return found != builds_.end() && found->second.size() == 1 && !found->second.begin()->empty();
  }

 private:
  std::map<std::string, std::set<std::string>> builds_;
  bool names_only_ = false;
};

class Joiner {
 public:
  Joiner(const std::vector<UnionRun>& runs, UnionTree& tree) : runs_(runs), keys_(runs), tree_(tree) {
    tree_.runs = runs.size();
    for (const UnionRun& run : runs) tree_.pieces += run.pieces.size();
    tree_.nodes.push_back({0, kNoPlace, 0, NodeKind::kRoot});
    tree_.node_self.assign(tree_.runs, 0);
    tree_.whole.assign(tree_.pieces, 0);
    tree_.effective.assign(tree_.runs, 0);
    tree_.samples.assign(tree_.runs, 0);
    module_of("", "");
  }

  void join() {
    std::size_t piece = 0;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      for (const TreeOptions& options : runs_[run].pieces)
        add(*runs_[run].profile, build_call_tree(*runs_[run].profile, options), run, piece++);
    }
  }

 private:
  std::uint32_t module_of(const std::string& key, const std::string& shown) {
    const auto [found, added] =
        module_ids_.try_emplace(key, static_cast<std::uint32_t>(tree_.modules.size()));
    if (added) {
      tree_.modules.push_back(shown);
      tree_.module_self.resize(tree_.modules.size() * tree_.pieces, 0);
    }
    return found->second;
  }
  std::uint32_t name_of(const std::string& name) {
    const auto [found, added] = name_ids_.try_emplace(name, static_cast<std::uint32_t>(tree_.names.size()));
    if (added) tree_.names.push_back(name);
    return found->second;
  }

  // Of one tree, by its rows.
  struct Rows {
    std::vector<std::uint32_t> module;
    std::vector<std::string> module_key;
    FlatMap<std::uint32_t> places;  // by name, module and sort; place + 1
  };

  static std::uint64_t sort_of(NodeKind kind) {
    return kind == NodeKind::kThread ? 1 : kind == NodeKind::kCause ? 2 : 0;
  }

  std::uint32_t place_of(const CallTree& from, const TreeNode& node, Rows& rows) {
    std::uint32_t& known =
        rows.places[std::uint64_t{node.name} << 32 | std::uint64_t{node.module} << 2 | sort_of(node.kind)];
    if (known == 0) known = new_place(from, node, rows) + 1;
    UnionPlace& place = tree_.places[known - 1];
    if (place.kind == NodeKind::kInlined) place.kind = node.kind;  // called for real somewhere
    return known - 1;
  }

  std::uint32_t new_place(const CallTree& from, const TreeNode& node, const Rows& rows) {
    const std::string& name = from.names[node.name];
    const std::string& key = rows.module_key[node.module];
    std::string stable;
    bool unmatched = false;
    if (node.kind == NodeKind::kThread) {
      stable = stable_thread(name);
    } else if (node.kind == NodeKind::kCause) {
      stable = name;
    } else if (const std::string file = file_of_address(name); !file.empty()) {
      unmatched = !keys_.is_one_build(key);
      stable = unmatched ? "[unnamed in " + stable_module(file) + "]" : name;
    } else {
      stable = stable_name(name);
    }
    const std::uint32_t name_row = name_of(stable);
    const std::uint32_t module = rows.module[node.module];
    const auto [found, added] = place_ids_.try_emplace(std::tuple(name_row, module, sort_of(node.kind)),
                                                       static_cast<std::uint32_t>(tree_.places.size()));
    if (added) {
      tree_.places.push_back({name_row, module, node.kind, unmatched});
      tree_.place_self.resize(tree_.places.size() * tree_.pieces, 0);
      tree_.place_total.resize(tree_.places.size() * tree_.pieces, 0);
      on_path_.push_back(0);
    }
    return found->second;
  }

  // The values of one piece fit into 64 bits together; those of all pieces of a broken file may not.
  static void add_up(std::int64_t& sum, std::int64_t value) {
    if (__builtin_add_overflow(sum, value, &sum)) sum = value > 0 ? INT64_MAX : -INT64_MAX;
  }

  void add(const model::Profile& profile, const CallTree& from, std::size_t run, std::size_t piece) {
    Rows rows;
    for (const TreeModule& module : from.modules) {
      rows.module_key.push_back(module.name.empty() ? "" : keys_.key_of(profile, module));
      const std::string& key = rows.module_key.back();
      rows.module.push_back(module_of(key, key == kProgram ? std::string(base_name(module.path)) : key));
    }
    tree_.effective[run] = std::min(kExact, tree_.effective[run] + from.effective_samples);
    tree_.samples[run] += from.samples;
    std::vector<std::uint32_t> joined(from.nodes.size(), 0);
    std::vector<std::uint32_t> path;  // places from the root to the node before
    for (std::size_t i = 0; i < from.nodes.size(); ++i) {
      const TreeNode& node = from.nodes[i];
      if (i == 0) {
        add_up(tree_.node_self[run], node.self);
        tree_.whole[piece] += node.total;
        continue;
      }
      const std::uint32_t place = place_of(from, node, rows);
      const std::uint32_t at = child(joined[node.parent], place, node.kind);
      joined[i] = at;
      add_up(tree_.node_self[at * tree_.runs + run], node.self);
      while (path.size() >= node.depth) {
        --on_path_[path.back()];
        path.pop_back();
      }
      tree_.place_self[place * tree_.pieces + piece] += node.self;
      if (on_path_[place] == 0) tree_.place_total[place * tree_.pieces + piece] += node.total;
      // A cause stands on the function that waited: the time is that function's own.
      const bool is_cause = node.kind == NodeKind::kCause && node.depth > 1;
      const std::uint32_t owner = is_cause && !path.empty() ? path.back() : place;
      if (owner != place && !is_pseudo(owner)) tree_.place_self[owner * tree_.pieces + piece] += node.self;
      tree_.module_self[tree_.places[owner].module * tree_.pieces + piece] += node.self;
      path.push_back(place);
      ++on_path_[place];
    }
    for (const std::uint32_t place : path) --on_path_[place];
  }

  bool is_pseudo(std::uint32_t place) const {
    return tree_.places[place].kind == NodeKind::kThread || tree_.places[place].kind == NodeKind::kCause;
  }

  std::uint32_t child(std::uint32_t parent, std::uint32_t place, NodeKind kind) {
    std::uint32_t& node = children_[std::uint64_t{parent} << 32 | place];
    if (node == 0) {
      node = static_cast<std::uint32_t>(tree_.nodes.size());
      tree_.nodes.push_back({parent, place, tree_.nodes[parent].depth + 1, kind});
      tree_.node_self.resize(tree_.nodes.size() * tree_.runs, 0);
    } else if (tree_.nodes[node].kind == NodeKind::kInlined) {
      tree_.nodes[node].kind = kind;
    }
    return node;
  }

  const std::vector<UnionRun>& runs_;
  ModuleKeys keys_;
  UnionTree& tree_;
  std::unordered_map<std::string, std::uint32_t> module_ids_, name_ids_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint32_t> place_ids_;
  FlatMap<std::uint32_t> children_;
  std::vector<std::uint32_t> on_path_;  // by place: how often it is on the path
};

}  // namespace

UnionTree build_union_tree(const std::vector<UnionRun>& runs) {
  UnionTree tree;
  Joiner(runs, tree).join();
  return tree;
}

CallTree as_call_tree(const UnionTree& tree, const std::vector<std::int64_t>& self,
                      std::vector<std::uint32_t>& origin) {
  CallTree drawn;
  drawn.names = tree.names;
  drawn.names.push_back("all");
  std::vector<std::uint32_t> order(drawn.names.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return drawn.names[a] < drawn.names[b]; });
  std::vector<std::uint32_t> rank(order.size());
  std::vector<std::string> sorted(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    sorted[i] = std::move(drawn.names[order[i]]);
  }
  drawn.names = std::move(sorted);
  for (const std::string& module : tree.modules) drawn.modules.emplace_back().name = module;

  // Nothing is drawn of what is worth nothing on both sides.
  std::vector<std::int64_t> total = self;
  for (std::size_t i = tree.nodes.size(); i-- > 1;) total[tree.nodes[i].parent] += total[i];
  std::vector<std::vector<std::uint32_t>> children(tree.nodes.size());
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
    if (total[i] > 0) children[tree.nodes[i].parent].push_back(i);
  }
  const auto key = [&](std::uint32_t node) {
    const UnionPlace& place = tree.places[tree.nodes[node].place];
    return std::tuple(rank[place.name], place.module, place.kind, node);
  };
  for (auto& siblings : children) {
    std::sort(siblings.begin(), siblings.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  }
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
      (above.last_child == kNoNode ? drawn.nodes[parent].first_child
                                   : drawn.nodes[above.last_child].next_sibling) = id;
      above.last_child = id;
    }
    open.push_back({node, id, 0, kNoNode});
  };
  enter(0, 0);
  while (!open.empty()) {
    Open& top = open.back();
    if (top.next == children[top.node].size()) {
      open.pop_back();
      continue;
    }
    const std::uint32_t next = children[top.node][top.next++];
    enter(next, top.drawn);
  }
  drawn.total = drawn.nodes[0].total;
  return drawn;
}

}  // namespace fathom::analysis
