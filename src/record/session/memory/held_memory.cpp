#include "record/session/memory/held_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "attach/allocators/state/held_words.h"
#include "record/session/memory/huge_rounding.h"

namespace fathom::session {

using allocators::AllocatorState;
using allocators::AllocatorStates;
using allocators::HeldKind;

std::string_view held_words(HeldKind kind) {
  return allocators::words_of(allocators::kind_of_range(kind));
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

allocators::AddressRanges huge_pages_of(const sources::MemoryReading& reading) {
  std::vector<allocators::AddressRange> runs;
  for (const auto& [start, end] : reading.huge_runs) runs.push_back({start, end});
  return allocators::AddressRanges(std::move(runs));
}

void add_held_by_name(const AllocatorStates& states, const allocators::AddressRanges& huge,
                      MemoryComposition& composition) {
  for (std::size_t i = 0; i < states.allocators.size(); ++i) {
    const AllocatorState& state = states.allocators[i];
    if (state.certainty == allocators::Certainty::kUnknown) continue;
    const std::string label = held_label(states, i);
    const std::string rounding = fmt::format("{}: {}", label, kRoundingWords);
    const std::string free_among_live =
        fmt::format("{}: {}", label, allocators::words_of(HeldKind::kFreeInSlabs));
    const auto free = static_cast<double>(state.free_in_live_pages);
    const double all = free + static_cast<double>(state.resident(HeldKind::kLive));
    const double free_share = all > 0 ? free / all : 0;
    std::map<HeldKind, std::string> names;  // there may be millions of ranges
    for (const HeldPart& part : split_by_huge_pages(state.ranges, huge)) {
      std::string& name = names[part.range.kind];
      if (name.empty()) name = fmt::format("{}: {}", label, held_words(part.range.kind));
      const bool divided = part.range.kind == HeldKind::kLive && !part.rounding;
      composition.add_held(part.range.start, part.range.end, {}, part.rounding ? rounding : name,
                           {free_among_live, divided ? free_share : 0});
    }
  }
}

std::optional<model::FreeBefore> free_memory_of(const AllocatorStates& states,
                                                const sources::ResidentPages& pages) {
  std::optional<model::FreeBefore> all;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < states.allocators.size(); ++i) {
    const AllocatorState& state = states.allocators[i];
    if (state.certainty == allocators::Certainty::kUnknown) continue;
    std::uint64_t free = state.free_in_live_pages;
    for (const allocators::HeldRange& range : state.ranges)
      if (range.kind != HeldKind::kLive && held_words(range.kind).starts_with("free"))
        free += pages.resident(range.start, range.end - range.start);
    if (!all) all.emplace();
    all->bytes += free;
    if (free < most) continue;
    most = free;
    all->allocator = held_label(states, i);
  }
  return all;
}

}  // namespace fathom::session
