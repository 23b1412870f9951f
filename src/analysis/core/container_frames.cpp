#include "analysis/core/container_frames.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/code_name.h"
#include "analysis/core/idle.h"
#include "analysis/core/runtimes.h"
#include "base/parse.h"
#include "base/text.h"

namespace fathom::analysis {
namespace {

// Names have spaces in them ("operator new"), so bars stand between them.
void add_names(std::vector<std::string>& to, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find(" | ");
    if (const std::string_view name = trimmed(text.substr(0, end)); !name.empty()) to.emplace_back(name);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 3);
  }
}

bool matches_any(const std::vector<std::string>& globs, std::string_view name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return matches_glob(glob, name); });
}

}  // namespace

Result<ContainerRules> parse_container_rules(std::string_view text, const std::string& name) {
  ContainerRules rules;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const auto wrong = [&](const std::string& what) {
      return fail(ErrorKind::kMalformed, fmt::format("{}:{}: {}", name, number, what));
    };
    const std::size_t space = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view word = line.substr(0, space);
    if (word == "family") {
      const std::string_view rest = trimmed(line.substr(space));
      const std::size_t end_of_name = std::min(rest.find_first_of(" \t"), rest.size());
      ContainerRules::Family family{std::string(rest.substr(0, end_of_name)), {}};
      add_names(family.functions, rest.substr(end_of_name));
      if (family.functions.empty()) return wrong("'family' wants a name and functions");
      rules.families.push_back(std::move(family));
      continue;
    }
    std::vector<std::string>* const names = word == "allocator" ? &rules.allocators
                                            : word == "wrapper" ? &rules.wrappers
                                            : word == "copier"  ? &rules.copiers
                                            : word == "library" ? &rules.libraries
                                            : word == "module"  ? &rules.modules
                                                                : nullptr;
    if (names == nullptr) return wrong(fmt::format("'{}' is not a kind of rule", word));
    const std::size_t before = names->size();
    add_names(*names, line.substr(space));
    if (names->size() == before) return wrong(fmt::format("nothing after '{}'", word));
  }
  std::sort(rules.libraries.begin(), rules.libraries.end());
  return rules;
}

const ContainerRules& built_in_container_rules() {
  // A test reads them too, so they are well formed.
  static const ContainerRules kRules =
      parse_container_rules(kContainerRulesText, "container_rules.txt").value_or(ContainerRules{});
  return kRules;
}

ContainerFrame container_frame_of(std::string_view function, const ContainerRules& rules) {
  if (matches_any(rules.allocators, function)) return ContainerFrame::kAllocator;
  if (matches_any(rules.wrappers, function)) return ContainerFrame::kWrapper;
  const std::string_view crate = crate_of(function);
  const bool library =
      !crate.empty() && std::binary_search(rules.libraries.begin(), rules.libraries.end(), crate);
  return library || matches_any(rules.copiers, function) ? ContainerFrame::kLibrary : ContainerFrame::kNone;
}

FoundAllocators::FoundAllocators(const model::Profile& profile) : profile_(profile) {
  const model::HeapTables& heap = profile.heap;
  for (const model::HeapHook& hook : heap.hooks)
    if (const model::ModuleId module = heap.allocators[hook.allocator.value].module; module.value != 0)
      hooked_[module.value].insert(profile.strings[hook.function]);
  for (const model::HeapAllocator& allocator : heap.allocators)
    for (const ContainerRules::Family& family : built_in_container_rules().families)
      if (allocator.module.value != 0 && profile.strings[allocator.label].starts_with(family.allocator))
        families_[allocator.module.value].push_back(&family);
}

bool FoundAllocators::own(const model::Function& function) const {
  const std::string_view name = profile_.strings[function.name];
  if (const auto hooked = hooked_.find(function.module.value);
      hooked != hooked_.end() && hooked->second.contains(name))
    return true;
  const auto families = families_.find(function.module.value);
  return families != families_.end() &&
         std::ranges::any_of(families->second, [name](const ContainerRules::Family* family) {
           return matches_any(family->functions, name);
         });
}

namespace {

HeapLeaves::Fold fold_of(const Selection& selection, bool fold_containers) {
  if (!selection.fold_plumbing) return HeapLeaves::Fold::kNothing;
  return selection.fold_containers.value_or(fold_containers) ? HeapLeaves::Fold::kContainers
                                                             : HeapLeaves::Fold::kAllocators;
}

bool is_of_library(std::string_view module) {
  return std::ranges::any_of(built_in_container_rules().modules,
                             [module](const std::string& start) { return module.starts_with(start); });
}

}  // namespace

HeapLeaves::HeapLeaves(const model::Profile& profile, const Selection& selection, bool fold_containers)
    : HeapLeaves(profile, fold_of(selection, fold_containers)) {}

HeapLeaves::HeapLeaves(const model::Profile& profile, Fold fold)
    : profile_(profile),
      fold_(fold),
      found_(profile),
      functions_(profile.functions.size()),
      known_(profile.stacks.size()),
      has_(profile.stacks.size()) {}

bool HeapLeaves::is_container_frame(model::FunctionId function, ContainerFrame most) {
  char& known = functions_[function.value];
  if (known == 0) {
    const model::Function& row = profile_.functions[function.value];
    ContainerFrame kind =
        found_.own(row) ? ContainerFrame::kAllocator : container_frame_of(profile_.strings[row.name]);
    if (kind == ContainerFrame::kNone &&
        is_of_library(profile_.strings[profile_.modules[row.module.value].name]))
      kind = ContainerFrame::kLibrary;
    known = static_cast<char>(1 + static_cast<int>(kind));
  }
  return known > 1 && known <= 1 + static_cast<int>(most);
}

HeapLeaf HeapLeaves::cut(model::StackId stack, ContainerFrame most) {
  HeapLeaf leaf{stack, 0};
  while (leaf.stack.value != 0) {
    const model::Stack& row = profile_.stacks[leaf.stack.value];
    const model::Frame& frame = profile_.frames[row.frame.value];
    std::uint32_t skip = 0;
    while (skip < frame.line_count &&
           is_container_frame(profile_.lines[frame.first_line + skip].function, most))
      ++skip;
    if (frame.line_count == 0 || skip < frame.line_count) {
      leaf.skip = skip;
      break;
    }
    leaf.stack = row.parent;
  }
  return leaf;
}

bool HeapLeaves::begins_program(model::StackId stack) const {
  const model::Frame& frame = profile_.frames[profile_.stacks[stack.value].frame.value];
  if (frame.line_count == 0) return false;
  const model::Line& outermost = profile_.lines[frame.first_line + frame.line_count - 1];
  return built_in_runtime_rules().begins(profile_.strings[profile_.functions[outermost.function.value].name]);
}

HeapLeaf HeapLeaves::of(model::StackId stack) {
  if (fold_ == Fold::kNothing) return {stack, 0};
  if (has_[stack.value] != 0) return known_[stack.value];
  const bool containers = fold_ == Fold::kContainers;
  HeapLeaf leaf = cut(stack, containers ? ContainerFrame::kLibrary : ContainerFrame::kAllocator);
  // Nothing but container frames, or what the system starts the program with: better than nothing at all.
  if (containers && (leaf.stack.value == 0 || begins_program(leaf.stack)))
    leaf = cut(stack, ContainerFrame::kAllocator);
  if (leaf.stack.value == 0) leaf = {stack, 0};
  has_[stack.value] = 1;
  return known_[stack.value] = leaf;
}

}  // namespace fathom::analysis
