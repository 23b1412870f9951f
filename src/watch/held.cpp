#include "watch/held.h"

#include <fmt/format.h>

#include <algorithm>

namespace fathom::watch {
namespace {

using allocators::AllocatorState;
using allocators::AllocatorStates;
using allocators::Certainty;
using allocators::HeldKind;

constexpr std::string_view kLive = "live blocks";
constexpr std::string_view kFreeAmongLive = "free among live blocks";

std::string_view name_of(HeldKind kind) {
  switch (kind) {
    case HeldKind::kDirty:
      return "free, not given back (dirty)";
    case HeldKind::kMuzzy:
      return "free, the kernel may take it (muzzy)";
    case HeldKind::kRetained:
      return "address space that is kept (retained)";
    case HeldKind::kMetadata:
      return "its own records";
    case HeldKind::kBins:
      return "free chunks";
    case HeldKind::kTop:
      return "free ends of heaps";
    case HeldKind::kMapped:
      return "live blocks with a mapping of their own";
    case HeldKind::kFreeInSlabs:
    case HeldKind::kPadding:
      return kFreeAmongLive;
    case HeldKind::kLive:
    case HeldKind::kFastBins:
    case HeldKind::kThreadCache:
      break;
  }
  return kLive;
}

}  // namespace

allocators::AddressRanges present_of(const sources::ResidentPages& pages) {
  std::vector<allocators::AddressRange> runs;
  pages.for_each_run([&](std::uint64_t start, std::uint64_t end) { runs.push_back({start, end}); });
  return allocators::AddressRanges(std::move(runs));
}

std::string held_label(const AllocatorStates& states, std::size_t index) {
  const AllocatorState& state = states.allocators[index];
  const auto same = std::count_if(states.allocators.begin(), states.allocators.end(),
                                  [&](const AllocatorState& each) { return each.name == state.name; });
  if (same < 2) return state.name;
  return fmt::format("{} of {}", state.name, state.module.substr(state.module.rfind('/') + 1));
}

void add_held(const AllocatorStates& states, session::MemoryComposition& composition, model::Profile& names,
              model::Builder& builder) {
  for (std::size_t i = 0; i < states.allocators.size(); ++i) {
    const AllocatorState& state = states.allocators[i];
    if (state.certainty == Certainty::kUnknown) continue;
    const model::HeapAllocatorId id{static_cast<std::uint32_t>(names.heap.allocators.size())};
    names.heap.allocators.push_back({builder.string(held_label(states, i)), {}});
    for (const allocators::HeldRange& range : state.ranges)
      composition.add_held(range.start, range.end, id, name_of(range.kind));
  }
}

void divide_live(const AllocatorStates& states, analysis::MemoryLines& lines) {
  for (std::size_t i = 0; i < states.allocators.size(); ++i) {
    const AllocatorState& state = states.allocators[i];
    const std::uint64_t free = state.resident(HeldKind::kFreeInSlabs) + state.resident(HeldKind::kPadding),
                        all = free + state.resident(HeldKind::kLive);
    if (state.certainty == Certainty::kUnknown || free == 0) continue;
    const std::string who = fmt::format("heap, {}: ", held_label(states, i));
    const auto live =
        std::find_if(lines.lines.begin(), lines.lines.end(), [&](const analysis::MemoryLine& line) {
          return line.kind == "heap" && line.name == who + std::string(kLive);
        });
    if (live == lines.lines.end()) continue;
    analysis::MemoryLine rest;
    rest.kind = live->kind;
    rest.name = who + std::string(kFreeAmongLive);
    rest.bytes = static_cast<std::uint64_t>(static_cast<double>(live->bytes) * static_cast<double>(free) /
                                            static_cast<double>(all));
    rest.bytes = std::min(rest.bytes, live->bytes);
    live->bytes -= rest.bytes;
    if (rest.bytes != 0) lines.lines.push_back(std::move(rest));
  }
  std::erase_if(lines.lines, [](const auto& line) { return line.bytes == 0 && line.swap_bytes == 0; });
  std::stable_sort(lines.lines.begin(), lines.lines.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
}

}  // namespace fathom::watch
