#include "analysis/diff/union_tree.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <tuple>

#include "analysis/core/fold_generics.h"
#include "analysis/core/functions.h"
#include "analysis/core/source_facts.h"
#include "analysis/core/stack_sums.h"
#include "analysis/core/tracer_frames.h"
#include "analysis/diff/piece_sums.h"
#include "analysis/diff/stable_name.h"
#include "base/text.h"
#include "model/facts.h"
#include "model/nameless_function.h"

namespace fathom::analysis {
namespace {

constexpr std::string_view kProgram = "[program]";  // the key of the program itself, for any file name

// The file of a function that has an address instead of a name, "[libx.so.1+0x10]" or, if its bounds are
// known, "libx.so.1@fde+0x10"; "" for every other name.
std::string file_of_address(std::string_view name) {
  if (const auto nameless = model::nameless_function(name)) return std::string(nameless->module);
  const std::size_t address = name.rfind("+0x");
  return is_unnamed(name) && address != std::string_view::npos ? std::string(name.substr(1, address - 1))
                                                               : "";
}

// A module's common name in all runs, and whether its addresses mean the same in all of them.
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
        builds_[key_of(profile, row)].insert(build_of(profile, module));
      }
    }
    for (const UnionRun& run : runs) find_codes(run);
    name_codes();
  }

  // "": modules are not distinguished.
  std::string key_of(const model::Profile& profile, const TreeModule& module) const {
    if (module.name == kCauseModule) return module.name;
    // Text of other tools contains a function's name without a file, or with another name for it.
    if (names_only_) return "";
    if (module.kind == model::ModuleKind::kFile && !profile.processes.empty() &&
        profile.strings[profile.processes.front().executable] == module.path && !module.path.empty())
      return std::string(kProgram);
    return stable_module(module.name);
  }
  // One file: an address means the same code everywhere.
  bool is_one_build(const std::string& key) const {
    const auto found = builds_.find(key);
    return found != builds_.end() && found->second.size() == 1 && !found->second.begin()->empty();
  }
  // The common name of a nameless function in all builds of its module; null unless each build has exactly
  // one function with this code.
  const std::string* name_of_code(const std::string& key, std::uint64_t code) const {
    const auto found = names_.find({key, code});
    return code == 0 || found == names_.end() ? nullptr : &found->second;
  }

 private:
  // The vdso is in no file and has no build id; each kernel has its own.
  static std::string build_of(const model::Profile& profile, const model::Module& module) {
    const std::string_view id = profile.strings[module.build_id];
    return id.empty() && module.kind == model::ModuleKind::kVdso
               ? model::facts_of<model::OriginFacts>(profile.meta).kernel
               : std::string(id);
  }

  using Code = std::pair<std::string, std::uint64_t>;  // in the module with this key

  void find_codes(const UnionRun& run) {
    const model::Profile& profile = *run.profile;
    const std::size_t count = std::min(run.codes.size(), profile.functions.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (run.codes[i] == 0) continue;
      const model::Module& module = profile.modules[profile.functions[i].module.value];
      TreeModule row;
      row.name = profile.strings[module.name];
      row.path = profile.strings[module.path];
      row.kind = module.kind;
      functions_[{key_of(profile, row), run.codes[i]}][std::string(profile.strings[module.build_id])].insert(
          std::string(profile.strings[profile.functions[i].name]));
      first_build_.try_emplace(key_of(profile, row), profile.strings[module.build_id]);
    }
  }

  // Two functions of one build that only differ in addresses cannot be told apart, so they match none.
  void name_codes() {
    for (const auto& [code, builds] : functions_) {
      if (builds.size() != builds_[code.first].size()) continue;
      const bool alone = std::all_of(builds.begin(), builds.end(),
                                     [](const auto& build) { return build.second.size() == 1; });
      if (!alone || builds.contains("")) continue;
      // Every build has it, so the first build has it too, and no other function there has this name.
      names_.emplace(code, *builds.at(first_build_.at(code.first)).begin());
    }
  }

  std::map<std::string, std::set<std::string>> builds_;
  std::map<Code, std::map<std::string, std::set<std::string>>> functions_;  // their names, by build
  std::map<std::string, std::string> first_build_;  // by module: the build in the first run
  std::map<Code, std::string> names_;
  bool names_only_ = false;
};

// As in trees of one recording (call_tree.cpp): a larger tree is useless, and a malicious recording may ask
// for any size.
constexpr std::size_t kMostNodes = 16'000'000;
constexpr std::uint64_t kMostSteps = 1'000'000'000;

static_assert(kMostNodes < Uint24::kMost);

[[noreturn]] void refuse_large() {
  throw std::length_error(
      "the call tree of both sides is too large: more than 16 million nodes, names or modules, or a billion frames to place");
}

std::uint64_t sort_of(NodeKind kind) {
  return kind == NodeKind::kThread ? 1 : kind == NodeKind::kCause ? 2 : 0;
}

// Places and nodes of all runs.
class Union {
 public:
  Union(const std::vector<UnionRun>& runs, UnionTree& tree) : keys_(runs), tree_(tree) {
    tree_.runs = runs.size();
    for (const UnionRun& run : runs) tree_.pieces += run.cuts.size() + 1;
    tree_.nodes.push_back({0, kNoPlace, 0, NodeKind::kRoot});
    first_child_.push_back(0);
    next_sibling_.push_back(0);
    tree_.whole.assign(tree_.pieces, 0);
    tree_.effective.assign(tree_.runs, 0);
    tree_.samples.assign(tree_.runs, 0);
    module_of("", "");
  }

  std::size_t node_count() const { return tree_.nodes.size(); }
  // Of the first run that has one.
  const std::string& main_thread() const { return main_thread_; }
  void set_main_thread(const std::string& name) {
    if (main_thread_.empty()) main_thread_ = name;
  }
  const ModuleKeys& keys() const { return keys_; }
  const std::string& module_key(std::uint32_t module) const { return module_keys_[module]; }
  const std::string& module_name(std::uint32_t module) const { return tree_.modules[module]; }
  const std::vector<std::uint32_t>& first_child() const { return first_child_; }
  const std::vector<std::uint32_t>& next_sibling() const { return next_sibling_; }

  std::uint32_t module_of(const std::string& key, const std::string& shown) {
    const auto [found, added] =
        module_ids_.try_emplace(key, static_cast<std::uint32_t>(tree_.modules.size()));
    if (added) {
      tree_.modules.push_back(shown);
      module_keys_.push_back(key);
    }
    return found->second;
  }

  std::uint32_t place_of(const std::string& name, std::uint32_t module, NodeKind kind, bool unmatched,
                         bool by_code = false) {
    const auto [named, new_name] =
        name_ids_.try_emplace(name, static_cast<std::uint32_t>(tree_.names.size()));
    if (new_name) tree_.names.push_back(name);
    const auto [found, added] = place_ids_.try_emplace(std::tuple(named->second, module, sort_of(kind)),
                                                       static_cast<std::uint32_t>(tree_.places.size()));
    if (added) tree_.places.push_back({named->second, module, kind, unmatched, by_code});
    return found->second;
  }

  std::uint32_t child(std::uint32_t parent, std::uint32_t place, NodeKind kind) {
    if (++steps_ > kMostSteps || tree_.nodes.size() > kMostNodes) refuse_large();
    UnionPlace& at = tree_.places[place];
    // A real call somewhere beats inlined; a kind other than kernel beats kernel. The order of the sides does
    // not matter.
    if (at.kind == NodeKind::kInlined || (at.kind == NodeKind::kKernel && kind != NodeKind::kInlined))
      at.kind = kind;
    std::uint32_t* slot = slot_of(parent, place);
    if (*slot == 0) {
      if (tree_.nodes.size() * 2 > slots_.size()) {
        grow();
        slot = slot_of(parent, place);
      }
      const auto node = *slot = static_cast<std::uint32_t>(tree_.nodes.size());
      tree_.nodes.push_back({parent, place, tree_.nodes[parent].depth + 1, kind});
      next_sibling_.push_back(first_child_[parent]);
      first_child_[parent] = node;
      first_child_.push_back(0);
      return node;
    }
    if (tree_.nodes[*slot].kind == NodeKind::kInlined) tree_.nodes[*slot].kind = kind;
    return *slot;
  }

 private:
  // The slot of that child, or the empty slot for it.
  std::uint32_t* slot_of(std::uint32_t parent, std::uint32_t place) {
    const std::uint64_t key = std::uint64_t{parent} << 32 | place;
    std::size_t at = ((key ^ (key >> 32)) * 0x9e3779b97f4a7c15u >> 20) & (slots_.size() - 1);
    const auto is_other = [&](std::uint32_t node) {
      return tree_.nodes[node].parent != parent || tree_.nodes[node].place != place;
    };
    while (slots_[at] != 0 && is_other(slots_[at])) at = (at + 1) & (slots_.size() - 1);
    return &slots_[at];
  }
  void grow() {
    slots_.assign(slots_.size() * 2, 0);
    for (std::uint32_t node = 1; node < tree_.nodes.size(); ++node)
      *slot_of(tree_.nodes[node].parent, tree_.nodes[node].place) = node;
  }

  ModuleKeys keys_;
  UnionTree& tree_;
  std::string main_thread_;
  std::vector<std::string> module_keys_;
  std::vector<std::uint32_t> first_child_, next_sibling_;  // by node; 0: none
  std::unordered_map<std::string, std::uint32_t> module_ids_, name_ids_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint32_t> place_ids_;
  // A hash table of nodes with open addressing: the keys are in the nodes, so it holds numbers only. 0:
  // empty.
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(1024);
  std::uint64_t steps_ = 0;
};

// The name of the main threads that worked; empty if they have several, as those of many programs have.
std::string main_thread_of(const model::Profile& profile) {
  std::string main;
  for (std::uint32_t i = 0; i < profile.threads.size(); ++i) {
    const model::Thread& thread = profile.threads[i];
    if (thread.tid != profile.processes[thread.process.value].pid || (thread.cpu_ns | thread.ran_ns) == 0)
      continue;
    std::string name = thread_name(profile, {i});
    if (!main.empty() && name != main) return "";
    main = std::move(name);
  }
  return main;
}

// The places of one run's frames: builds keys once per function, not once per node.
class RunPlaces {
 public:
  RunPlaces(const UnionRun& run, Union& all)
      : profile_(*run.profile),
        codes_(run.codes),
        fold_(run.options.fold_generics),
        left_out_(run.options.selection.tracer ? std::nullopt : tracer_module(profile_)),
        all_(all),
        first_(profile_.frames.size(), kNoPlace),
        functions_(profile_.functions.size(), kNoPlace) {
    // In name order, so that the result does not depend on the order of a profile's tables.
    std::vector<TreeModule> rows(profile_.modules.size());
    std::vector<std::uint32_t> order(rows.size());
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      const model::Module& module = profile_.modules[i];
      if (i != 0) {
        rows[i].name = profile_.strings[module.name];
        rows[i].path = profile_.strings[module.path];
        rows[i].build_id = profile_.strings[module.build_id];
        rows[i].kind = module.kind;
      }
      order[i] = i;
    }
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return rows[a] < rows[b]; });
    modules_.resize(rows.size());
    for (const std::uint32_t i : order) {
      const std::string key = rows[i].name.empty() ? "" : all_.keys().key_of(profile_, rows[i]);
      modules_[i] = all_.module_of(key, key == kProgram ? std::string(base_name(rows[i].path)) : key);
    }
    main_thread_ = main_thread_of(profile_);
    all_.set_main_thread(main_thread_);
  }

  struct Line {
    std::uint32_t place;
    NodeKind kind;
  };
  // Innermost first; no lines for the heap tracer's frames, at least one for all others.
  std::span<const Line> lines(model::FrameId id) {
    const model::Frame& frame = profile_.frames[id.value];
    if (left_out_ && frame.module == *left_out_) return {};
    const std::uint32_t count = std::max(frame.line_count, 1u);
    std::uint32_t& first = first_[id.value];
    if (first == kNoPlace) {
      first = static_cast<std::uint32_t>(lines_.size());
      if (frame.line_count == 0) {
        const NodeKind kind = kind_of_code(profile_, frame.module, false);
        lines_.push_back({of_code(profile_.pseudo_name(frame), frame.module, kind), kind});
      }
      for (std::uint32_t i = 0; i < frame.line_count; ++i)
        lines_.push_back(
            of_function(profile_.lines[frame.first_line + i].function, i + 1 < frame.line_count));
    }
    return {lines_.data() + first, count};
  }
  // The main thread bears the name of the program's file, which may be another one in each run.
  Line of_thread(const std::string& name) {
    const bool is_main = name == main_thread_ && !all_.main_thread().empty();
    return {all_.place_of(stable_thread(is_main ? all_.main_thread() : name), all_.module_of("", ""),
                          NodeKind::kThread, false),
            NodeKind::kThread};
  }
  Line of_cause(const std::string& name) {
    return {all_.place_of(name, all_.module_of("", ""), NodeKind::kCause, false), NodeKind::kCause};
  }

 private:
  Line of_function(model::FunctionId id, bool inlined) {
    const model::Function& function = profile_.functions[id.value];
    NodeKind kind = kind_of_code(profile_, function.module, true);
    std::uint32_t& place = functions_[id.value];
    if (inlined && kind == NodeKind::kUser) kind = NodeKind::kInlined;
    if (place == kNoPlace) {
      const std::string_view name = profile_.strings[function.name];
      const std::uint64_t code = id.value < codes_.size() ? codes_[id.value] : 0;
      place = of_code(fold_ ? fold_generics(name) : std::string(name), function.module, kind, code);
    }
    return {place, kind};
  }

  std::uint32_t of_code(const std::string& name, model::ModuleId id, NodeKind kind, std::uint64_t code = 0) {
    const std::uint32_t module = modules_[id.value];
    if (kind == NodeKind::kCause) return all_.place_of(name, module, kind, false);
    const std::string file = file_of_address(name);
    if (file.empty()) return all_.place_of(stable_name(name), module, kind, false);
    if (all_.keys().is_one_build(all_.module_key(module))) return all_.place_of(name, module, kind, false);
    if (const std::string* same = all_.keys().name_of_code(all_.module_key(module), code))
      return all_.place_of(*same, module, kind, false, true);
    // The program is the same one for any file name.
    const bool program = all_.module_key(module) == kProgram;
    return all_.place_of("[unnamed in " + (program ? all_.module_name(module) : stable_module(file)) + "]",
                         module, kind, true);
  }

  const model::Profile& profile_;
  std::span<const std::uint64_t> codes_;
  bool fold_;
  std::optional<model::ModuleId> left_out_;
  Union& all_;
  std::vector<std::uint32_t> first_;      // by frame: row of lines_
  std::vector<std::uint32_t> functions_;  // by function: its place
  std::vector<std::uint32_t> modules_;    // by module: its row in the union
  std::string main_thread_;
  std::vector<Line> lines_;
};

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
  if (drawn.names.size() > Uint24::kMost || drawn.modules.size() > Uint24::kMost) refuse_large();

  // Nodes without a value on either side are not drawn.
  std::vector<std::int64_t> total = self;
  for (std::size_t i = tree.nodes.size(); i-- > 1;) total[tree.nodes[i].parent] += total[i];
  // Children of a node as one range of `order`; a vector for each would need more memory than anything else.
  std::vector<std::uint32_t> first(tree.nodes.size() + 1, 0);
  for (std::size_t i = 1; i < tree.nodes.size(); ++i)
    if (total[i] > 0) ++first[tree.nodes[i].parent + 1];
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<std::uint32_t> children(first.back());
  {
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (std::uint32_t i = 1; i < tree.nodes.size(); ++i)
      if (total[i] > 0) children[next[tree.nodes[i].parent]++] = i;
  }
  const auto key = [&](std::uint32_t node) {
    const UnionPlace& place = tree.places[tree.nodes[node].place];
    return std::tuple(rank[place.name], place.module, place.kind, node);
  };
  for (std::size_t i = 0; i + 1 < first.size(); ++i)
    std::sort(children.begin() + first[i], children.begin() + first[i + 1],
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  drawn.nodes.reserve(children.size() + 1);
  origin.reserve(children.size() + 1);
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
    open.push_back({node, id, first[node], kNoNode});
  };
  enter(0, 0);
  while (!open.empty()) {
    Open& top = open.back();
    if (top.next == first[top.node + 1]) {
      open.pop_back();
      continue;
    }
    const std::uint32_t next = children[top.next++];
    enter(next, top.drawn);
  }
  drawn.total = drawn.nodes[0].total;
  return drawn;
}

}  // namespace fathom::analysis
