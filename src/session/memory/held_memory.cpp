#include "session/memory/held_memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace fathom::session {

using allocators::AllocatorState;
using allocators::AllocatorStates;
using allocators::HeldKind;

std::string_view held_words(HeldKind kind) {
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
      return "free among live blocks";
    case HeldKind::kLive:
    case HeldKind::kFastBins:
    case HeldKind::kThreadCache:
      break;
  }
  return "live blocks";
}

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

void add_held_by_name(const AllocatorStates& states, MemoryComposition& composition) {
  for (std::size_t i = 0; i < states.allocators.size(); ++i) {
    const AllocatorState& state = states.allocators[i];
    if (state.certainty == allocators::Certainty::kUnknown) continue;
    const std::string label = held_label(states, i);
    for (const allocators::HeldRange& range : state.ranges)
      composition.add_held(range.start, range.end, {}, fmt::format("{}: {}", label, held_words(range.kind)));
  }
}

}  // namespace fathom::session
