#include <array>
#include <map>

#include "base/flat_map.h"
#include "base/stable_sort.h"
#include "base/text.h"
#include "model/nameless_function.h"
#include "present/svg/flame_graph_text.h"
#include "present/svg/painter.h"
#include "present/svg/palettes.h"

namespace fathom::present {

using analysis::CallTree;
using analysis::TreeNode;

namespace {

// The crate or namespace, else the file. Folded text knows neither for a C function.
std::string_view group_of(std::string_view name, std::string_view module) {
  const std::string_view space = namespace_of(name);
  return space.empty() ? base_name(module) : space;
}

// What is known of a function; each is looked at once, because a large tree has hundreds of nodes of one.
struct FunctionColor {
  Owner owner = Owner::kCode;
  std::string_view group;    // of code
  std::int64_t covered = 0;  // by its nodes together
  std::uint64_t shade = 0;
  std::size_t family = 0;
  bool known = false;
};

constexpr std::size_t kOwners = static_cast<std::size_t>(Owner::kCode) + 1;

class OwnerColors {
 public:
  OwnerColors(const CallTree& tree, bool reverse) : tree_(tree), painter_(tree, reverse) {}

  Coloring paint() {
    for (const TreeNode& node : tree_.nodes) function_of(node).covered += node.total;
    const std::size_t threads = add(kThreadHue, "");
    const std::map<std::string_view, std::size_t> groups = add_groups();
    add_families(threads, groups.empty());
    functions_.for_each([&](std::uint64_t, FunctionColor& function) {
      const auto group = groups.find(function.group);
      const bool has_hue = function.owner == Owner::kCode && group != groups.end();
      function.family = has_hue ? group->second : families_[static_cast<std::size_t>(function.owner)];
    });
    for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
      const FunctionColor& function = function_of(tree_.nodes[i]);
      painter_.paint(i, function.family, function.shade);
    }
    return painter_.finish(
        std::string("Colour: whose code it is (crate, namespace or file). Per cent: what ") +
            (model::is_heap(tree_.metric) ? "such frames asked for" : "ran in such frames") +
            " themselves. Shades only tell neighbours apart.",
        true);
  }

 private:
  FunctionColor& function_of(const TreeNode& node) {
    const std::uint64_t module_and_kind =
        std::uint64_t{node.module} << 4 | static_cast<std::uint8_t>(node.kind);
    FunctionColor& function = functions_[std::uint64_t{node.name} << 32 ^ module_and_kind];
    if (function.known) return function;
    const std::string_view name = tree_.name(node);
    function.known = true;
    function.shade = hash_of(name);
    function.owner =
        model::nameless_function(name) ? Owner::kUnknown : owner_of(node, name, tree_.modules[node.module]);
    if (function.owner == Owner::kCode) function.group = group_of(name, tree_.modules[node.module].name);
    return function;
  }

  std::size_t add(const Hue& hue, const std::string& label) {
    return painter_.family(label, [&](std::vector<ColorClass>& classes) { add_shades(hue, classes); });
  }

  // The groups that cover most of the picture, as many as there are hues.
  std::vector<std::string_view> largest_groups() {
    std::map<std::string_view, std::int64_t> area;
    std::int64_t covered_by_code = 0;
    functions_.for_each([&](std::uint64_t, const FunctionColor& function) {
      if (function.owner != Owner::kCode) return;
      covered_by_code += function.covered;
      if (!function.group.empty()) area[function.group] += function.covered;
    });
    std::vector<std::pair<std::string_view, std::int64_t>> largest(area.begin(), area.end());
    stable_sort_rows(largest.begin(), largest.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    if (largest.size() > kGroupHues.size()) largest.resize(kGroupHues.size());
    std::vector<std::string_view> groups;
    for (const auto& [group, covered] : largest) {
      // Below a fiftieth of the code, a legend's item is hard to find in the picture.
      if (covered < covered_by_code / 50) break;
      groups.push_back(group);
    }
    return groups;
  }

  // A group asks for the hue that its name hashes to, so it mostly keeps its colour from one picture to the
  // next.
  std::map<std::string_view, std::size_t> add_groups() {
    std::map<std::string_view, std::size_t> families;
    std::array<bool, kGroupHues.size()> taken{};
    for (const std::string_view group : largest_groups()) {
      std::size_t hue = hash_of(group) % kGroupHues.size();
      while (taken[hue]) hue = (hue + 1) % kGroupHues.size();
      taken[hue] = true;
      families[group] = add(kGroupHues[hue], clean_text(group));
    }
    return families;
  }

  // One for each other owner. Their order is that of the legend.
  void add_families(std::size_t threads, bool is_all_code) {
    const auto family = [&](Owner owner) -> std::size_t& {
      return families_[static_cast<std::size_t>(owner)];
    };
    family(Owner::kThread) = threads;
    family(Owner::kCode) = add(kOtherHue, is_all_code ? "program" : "other code");
    family(Owner::kRuntime) = add(kRuntimeHue, "runtime, std and libc");
    family(Owner::kAllocator) = add(kAllocatorHue, "allocator");
    family(Owner::kGenerated) = add(kGeneratedHue, "generated code (JIT)");
    family(Owner::kKernel) = add(kKernelHue, "kernel");
    family(Owner::kCause) = add(kCauseHue, "reason of a wait");
    family(Owner::kUnknown) =
        painter_.family("no name (stripped, or unknown code)", [](std::vector<ColorClass>& classes) {
          classes.push_back({"u0", kUnnamedHue.light, kUnnamedHue.dark, false, true});
        });
  }

  const CallTree& tree_;
  Painter painter_;
  FlatMap<FunctionColor> functions_;
  std::array<std::size_t, kOwners> families_{};  // by owner
};

}  // namespace

Coloring color_by_owner(const CallTree& tree, bool reverse) {
  return OwnerColors(tree, reverse).paint();
}

}  // namespace fathom::present
