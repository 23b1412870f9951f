#include "present/page/call_nodes.h"

#include <algorithm>
#include <stdexcept>

#include "analysis/core/code_name.h"
#include "analysis/core/code_owner.h"
#include "analysis/core/prose_name.h"
#include "analysis/core/tracer_frames.h"
#include "analysis/core/words.h"

namespace fathom::page {
namespace {

using analysis::NodeKind;

constexpr std::size_t kMostNodes = 16'000'000;  // as of a call tree

}  // namespace

PlaceKind place_kind(analysis::Owner owner) {
  using analysis::Owner;
  switch (owner) {
    case Owner::kKernel:
      return PlaceKind::kKernel;
    case Owner::kRuntime:
      return PlaceKind::kRuntime;
    case Owner::kAllocator:
      return PlaceKind::kAllocator;
    case Owner::kGenerated:
      return PlaceKind::kGenerated;
    case Owner::kUnknown:
      return PlaceKind::kUnknown;
    case Owner::kCause:
      return PlaceKind::kCause;
    case Owner::kThread:
    case Owner::kCode:
      break;
  }
  return PlaceKind::kCode;
}

std::uint32_t Texts::of(std::string_view text) {
  const auto [found, added] =
      ids_.try_emplace(analysis::printable(text), static_cast<std::uint32_t>(rows_.size()));
  if (added) rows_.push_back(found->first);
  return found->second;
}

CallNodes::CallNodes(const model::Profile& profile)
    : profile_(profile),
      own_code_(profile),
      tracer_(analysis::tracer_module(profile)),
      of_stack_(profile.stacks.size()),
      of_function_(profile.functions.size()) {
  of_stack_[0] = 1;
}

PlaceOwner CallNodes::owner_of(std::string_view name, model::ModuleId module, std::string_view file) const {
  return own_code_.is_own(name, module, file) ? PlaceOwner::kOwn
         : own_code_.is_runtime(name, module) ? PlaceOwner::kRuntime
                                              : PlaceOwner::kLinked;
}

std::uint32_t CallNodes::child(std::uint32_t parent, std::uint32_t place) {
  std::uint32_t& node = children_[std::uint64_t{parent} << 32 | place];
  if (node == 0) {
    if (nodes.size() >= kMostNodes)
      throw std::length_error("the page has more than 16 million calls to show");
    node = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back({parent, place});
  }
  return node;
}

std::uint32_t CallNodes::place_of(std::string_view name, model::ModuleId id, bool named) {
  const std::uint32_t text = texts.of(name);
  std::uint32_t& known = places_[std::uint64_t{text} << 32 | id.value];
  if (known != 0) return known;
  const model::Module& module = profile_.modules[id.value];
  const std::string_view module_name = profile_.strings[module.name];
  analysis::TreeNode node;
  node.kind = module.kind == model::ModuleKind::kKernel              ? NodeKind::kKernel
              : module.kind == model::ModuleKind::kUnknown && !named ? NodeKind::kOther
              : module.kind == model::ModuleKind::kNames && module_name == analysis::kCauseModule
                  ? NodeKind::kCause
                  : NodeKind::kUser;
  analysis::TreeModule described;
  described.name = module_name;
  described.path = profile_.strings[module.path];
  described.kind = module.kind;
  described.symbols = module.symbols;
  Place place;
  place.name = text;
  place.module = texts.of(module_name);
  place.crate = texts.of(analysis::crate_of(name));
  place.short_name = texts.of(analysis::prose_name(name));
  place.kind = place_kind(analysis::owner_of(node, name, described));
  place.whose = owner_of(name, id, "");
  known = static_cast<std::uint32_t>(places.size());
  places.push_back(place);
  return known;
}

std::uint32_t CallNodes::place_of_line(const model::Line& line) {
  std::uint32_t& known = of_function_[line.function.value];
  if (known == 0) {
    const model::Function& function = profile_.functions[line.function.value];
    known = place_of(profile_.strings[function.name], function.module, true);
  }
  Place& place = places[known];
  if (line.line != 0) {
    const std::uint32_t file = texts.of(profile_.strings[line.file]);
    if (place.first_line == 0) {
      place.file = file;
      const model::Function& function = profile_.functions[line.function.value];
      place.whose = owner_of(profile_.strings[function.name], function.module, profile_.strings[line.file]);
    }
    if (file == place.file) {
      place.first_line = place.first_line == 0 ? line.line : std::min(place.first_line, line.line);
      place.last_line = std::max(place.last_line, line.line);
    }
  }
  return known;
}

// The lines of the frame, outermost first, but for the innermost `skip`.
std::uint32_t CallNodes::enter(std::uint32_t node, model::FrameId id, std::uint32_t skip) {
  const model::Frame& frame = profile_.frames[id.value];
  if (tracer_ && frame.module == *tracer_) return node;
  if (frame.line_count == 0)
    return skip > 0 ? node : child(node, place_of(profile_.pseudo_name(frame), frame.module, false));
  for (std::uint32_t i = frame.line_count; i-- > skip;)
    node = child(node, place_of_line(profile_.lines[frame.first_line + i]));
  return node;
}

std::uint32_t CallNodes::of_stack(model::StackId stack) {
  std::vector<std::uint32_t> path;
  std::uint32_t at = stack.value;
  for (; of_stack_[at] == 0; at = profile_.stacks[at].parent.value) path.push_back(at);
  std::uint32_t node = of_stack_[at] - 1;
  for (auto row = path.rbegin(); row != path.rend(); ++row) {
    node = enter(node, profile_.stacks[*row].frame, 0);
    of_stack_[*row] = node + 1;
  }
  return node;
}

std::uint32_t CallNodes::of_leaf(const analysis::HeapLeaf& leaf) {
  if (leaf.skip == 0 || leaf.stack.value == 0) return of_stack(leaf.stack);
  const model::Stack& stack = profile_.stacks[leaf.stack.value];
  return enter(of_stack(stack.parent), stack.frame, leaf.skip);
}

std::uint32_t CallNodes::place_of_cause(std::string_view cause, bool idle) {
  const std::uint32_t text = texts.of(cause);
  // No module has these numbers: a function of the same name is another place.
  std::uint32_t& known = places_[std::uint64_t{text} << 32 | (idle ? 0xffff'fffe : 0xffff'fffd)];
  if (known == 0) {
    Place place;
    place.name = text;
    place.kind = idle ? PlaceKind::kIdle : PlaceKind::kCause;
    known = static_cast<std::uint32_t>(places.size());
    places.push_back(place);
  }
  return known;
}

std::vector<std::uint32_t> CallNodes::put_in_order() {
  std::vector<std::uint32_t> below(nodes.size(), 1), moved(nodes.size()), next(nodes.size());
  for (std::size_t i = nodes.size(); i-- > 1;) below[nodes[i].parent] += below[i];
  next[0] = 1;
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    std::uint32_t& place = next[nodes[i].parent];
    moved[i] = place;
    next[i] = place + 1;
    place += below[i];
  }
  std::vector<CallNode> ordered(nodes.size());
  children_ = {};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ordered[moved[i]] = {moved[nodes[i].parent], nodes[i].place};
    if (i > 0) children_[std::uint64_t{moved[nodes[i].parent]} << 32 | nodes[i].place] = moved[i];
  }
  nodes = std::move(ordered);
  for (std::uint32_t& node : of_stack_)
    if (node != 0) node = moved[node - 1] + 1;
  return moved;
}

}  // namespace fathom::page
