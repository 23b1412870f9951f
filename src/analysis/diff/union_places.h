// The nodes and places of a union while it is built (union_tree.cpp), and how the frames of one run become places of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/core/fold_generics.h"
#include "analysis/core/functions.h"
#include "analysis/core/source_facts.h"
#include "analysis/core/stack_sums.h"
#include "analysis/core/tracer_frames.h"
#include "analysis/diff/module_keys.h"
#include "analysis/diff/stable_name.h"
#include "analysis/diff/union_tree.h"
#include "base/text.h"
#include "model/nameless_function.h"

namespace fathom::analysis {

// The file of a function that has an address instead of a name, "[libx.so.1+0x10]" or, if its bounds are
// known, "libx.so.1@fde+0x10"; "" for every other name.
inline std::string file_of_address(std::string_view name) {
  if (const auto nameless = model::nameless_function(name)) return std::string(nameless->module);
  const std::size_t address = name.rfind("+0x");
  return is_unnamed(name) && address != std::string_view::npos ? std::string(name.substr(1, address - 1))
                                                               : "";
}

// As in trees of one recording (call_tree.cpp): a larger tree is useless, and a malicious recording may ask
// for any size.
inline constexpr std::size_t kMostUnionNodes = 16'000'000;
inline constexpr std::uint64_t kMostUnionSteps = 1'000'000'000;

static_assert(kMostUnionNodes < Uint24::kMost);

[[noreturn]] inline void refuse_large() {
  throw std::length_error(
      "the call tree of both sides is too large: more than 16 million nodes, names or modules, or a billion frames to place");
}

inline std::uint64_t sort_of(NodeKind kind) {
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
    if (++steps_ > kMostUnionSteps || tree_.nodes.size() > kMostUnionNodes) refuse_large();
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
inline std::string main_thread_of(const model::Profile& profile) {
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

}  // namespace fathom::analysis
