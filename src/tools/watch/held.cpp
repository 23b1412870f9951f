#include "tools/watch/held.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/stable_sort.h"
#include "record/session/memory/held_memory.h"
#include "record/session/memory/huge_rounding.h"

namespace fathom::watch {
namespace {

using allocators::AllocatorState;
using allocators::AllocatorStates;
using allocators::Certainty;
using allocators::HeldKind;

}  // namespace

void add_held(const AllocatorStates& states, const allocators::AddressRanges& huge,
              session::MemoryComposition& composition, model::Profile& names, model::Builder& builder) {
  for (std::size_t i = 0; i < states.allocators.size(); ++i) {
    const AllocatorState& state = states.allocators[i];
    if (state.certainty == Certainty::kUnknown) continue;
    const model::HeapAllocatorId id{static_cast<std::uint32_t>(names.heap.allocators.size())};
    names.heap.allocators.push_back({builder.string(session::held_label(states, i)), {}});
    for (const session::HeldPart& part : session::split_by_huge_pages(state.ranges, huge))
      composition.add_held(part.range.start, part.range.end, id,
                           part.rounding ? session::kRoundingWords : session::held_words(part.range.kind));
  }
}

void divide_live(const AllocatorStates& states, analysis::MemoryLines& lines) {
  for (std::size_t i = 0; i < states.allocators.size(); ++i) {
    const AllocatorState& state = states.allocators[i];
    const std::uint64_t free = state.free_in_live_pages, all = free + state.resident(HeldKind::kLive);
    if (state.certainty == Certainty::kUnknown || free == 0) continue;
    const std::string who = fmt::format("heap, {}: ", session::held_label(states, i));
    const auto live =
        std::find_if(lines.lines.begin(), lines.lines.end(), [&](const analysis::MemoryLine& line) {
          return line.kind == "heap" && line.name == who + std::string(session::held_words(HeldKind::kLive));
        });
    if (live == lines.lines.end()) continue;
    analysis::MemoryLine rest;
    rest.kind = live->kind;
    rest.name = who + std::string(session::held_words(HeldKind::kFreeInSlabs));
    rest.bytes = static_cast<std::uint64_t>(static_cast<double>(live->bytes) * static_cast<double>(free) /
                                            static_cast<double>(all));
    rest.bytes = std::min(rest.bytes, live->bytes);
    live->bytes -= rest.bytes;
    if (rest.bytes != 0) lines.lines.push_back(std::move(rest));
  }
  std::erase_if(lines.lines, [](const auto& line) { return line.bytes == 0 && line.swap_bytes == 0; });
  stable_sort_rows(lines.lines.begin(), lines.lines.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
}

}  // namespace fathom::watch
