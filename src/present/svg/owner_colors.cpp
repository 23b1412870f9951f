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

}  // namespace

Coloring color_by_owner(const CallTree& tree, bool reverse) {
  // Each function once: a large tree has hundreds of nodes of one.
  struct Facts {
    Owner owner = Owner::kCode;
    std::string_view group;
    std::int64_t covered = 0;  // by its nodes together
    std::uint64_t shade = 0;
    std::size_t family = 0;
    bool known = false;
  };
  FlatMap<Facts> of_function;
  const auto facts_of = [&](const TreeNode& node) -> Facts& {
    const std::uint64_t module_and_kind =
        std::uint64_t{node.module} << 4 | static_cast<std::uint8_t>(node.kind);
    Facts& facts = of_function[std::uint64_t{node.name} << 32 ^ module_and_kind];
    if (facts.known) return facts;
    facts.known = true;
    facts.shade = hash_of(tree.name(node));
    facts.owner = model::nameless_function(tree.name(node))
                      ? Owner::kUnknown
                      : owner_of(node, tree.name(node), tree.modules[node.module]);
    if (facts.owner == Owner::kCode) facts.group = group_of(tree.name(node), tree.modules[node.module].name);
    return facts;
  };
  for (const TreeNode& node : tree.nodes) facts_of(node).covered += node.total;
  // The eight groups that cover most of the picture get a hue of their own.
  std::map<std::string_view, std::int64_t> area;
  std::int64_t covered_by_code = 0;
  of_function.for_each([&](std::uint64_t, const Facts& facts) {
    if (facts.owner != Owner::kCode) return;
    covered_by_code += facts.covered;
    if (!facts.group.empty()) area[facts.group] += facts.covered;
  });
  std::vector<std::pair<std::string_view, std::int64_t>> largest(area.begin(), area.end());
  stable_sort_rows(largest.begin(), largest.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (largest.size() > kGroupHues.size()) largest.resize(kGroupHues.size());
  // Below a fiftieth of the code, a legend's item is hard to find in the picture.
  while (!largest.empty() && largest.back().second < covered_by_code / 50) largest.pop_back();

  Painter painter(tree, reverse);
  const auto add = [&](const Hue& hue, const std::string& label) {
    return painter.family(label, [&](std::vector<ColorClass>& classes) { add_shades(hue, classes); });
  };
  const std::size_t threads = add(kThreadHue, "");
  // A group asks for the hue that its name hashes to, so it mostly keeps its colour from one picture to the
  // next.
  std::map<std::string_view, std::size_t> of_group;
  std::array<bool, kGroupHues.size()> taken{};
  for (const auto& [group, covered] : largest) {
    std::size_t hue = hash_of(group) % kGroupHues.size();
    while (taken[hue]) hue = (hue + 1) % kGroupHues.size();
    taken[hue] = true;
    of_group[group] = add(kGroupHues[hue], clean_text(group));
  }
  const std::size_t other = add(kOtherHue, largest.empty() ? "program" : "other code");
  const std::size_t runtime = add(kRuntimeHue, "runtime, std and libc");
  const std::size_t allocator = add(kAllocatorHue, "allocator");
  const std::size_t generated = add(kGeneratedHue, "generated code (JIT)");
  const std::size_t kernel = add(kKernelHue, "kernel");
  const std::size_t cause = add(kCauseHue, "reason of a wait");
  const std::size_t unnamed =
      painter.family("no name (stripped, or unknown code)", [](std::vector<ColorClass>& classes) {
        classes.push_back({"u0", kUnnamedHue.light, kUnnamedHue.dark, false, true});
      });
  of_function.for_each([&](std::uint64_t, Facts& facts) {
    std::size_t& family = facts.family = other;
    switch (facts.owner) {
      case Owner::kThread:
        family = threads;
        break;
      case Owner::kKernel:
        family = kernel;
        break;
      case Owner::kRuntime:
        family = runtime;
        break;
      case Owner::kAllocator:
        family = allocator;
        break;
      case Owner::kGenerated:
        family = generated;
        break;
      case Owner::kCause:
        family = cause;
        break;
      case Owner::kUnknown:
        family = unnamed;
        break;
      case Owner::kCode:
        if (const auto found = of_group.find(facts.group); found != of_group.end()) family = found->second;
        break;
    }
  });
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const Facts& facts = facts_of(tree.nodes[i]);
    painter.paint(i, facts.family, facts.shade);
  }
  return painter.finish(std::string("Colour: whose code it is (crate, namespace or file). Per cent: what ") +
                            (model::is_heap(tree.metric) ? "such frames asked for" : "ran in such frames") +
                            " themselves. Shades only tell neighbours apart.",
                        true);
}

}  // namespace fathom::present
