#include "attach/allocators/statistics/held_by.h"

#include <algorithm>

#include "attach/allocators/statistics/parts.h"

namespace fathom::allocators {

AllocatorState held_by(const Statistics& statistics) {
  AllocatorState state;
  state.name = "jemalloc";
  state.layout = statistics.version;
  const std::string* compiled = statistics.setting("config.stats");
  if (!statistics.allocated || !statistics.active) {
    state.reason = compiled != nullptr && *compiled == "false"
                       ? "this jemalloc was built without statistics (--disable-stats)"
                       : "the line that begins with 'Allocated:' is not in it";
    return state;
  }
  state.certainty = Certainty::kVerified;
  if (statistics.cut) state.reason = "its end is missing";
  const auto add = [&](HeldKind kind, std::uint64_t bytes, std::uint64_t resident) {
    if (bytes != 0) state.lines.push_back({kind, bytes, resident, false});
  };
  std::uint64_t free = 0;
  for (const StatisticsClass& of : statistics.classes) {
    free += of.free_bytes();
    if (of.large || !of.slabs) continue;
    state.classes.push_back({of.size, *of.slabs, of.slab_bytes.value_or(0),
                             times(*of.slabs, of.blocks_in_slab.value_or(0)), of.live});
  }
  // Tables of arenas may be left out while the totals have all of them, and both were read one after the other.
  const std::uint64_t rest = *statistics.active - std::min(*statistics.active, *statistics.allocated);
  free = std::min(free, rest);
  add(HeldKind::kLive, *statistics.allocated, *statistics.allocated);
  add(HeldKind::kFreeInSlabs, free, free);
  add(HeldKind::kPadding, rest - free, rest - free);
  add(HeldKind::kDirty, statistics.dirty.value_or(0), statistics.dirty.value_or(0));
  add(HeldKind::kMuzzy, statistics.muzzy.value_or(0), statistics.muzzy.value_or(0));
  add(HeldKind::kRetained, statistics.retained.value_or(0), 0);
  add(HeldKind::kMetadata, statistics.metadata.value_or(0), statistics.metadata.value_or(0));
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(statistics.arenas_read, 10'000); ++i)
    state.arenas.emplace_back().index = i;
  state.returnable = statistics.dirty.value_or(0) + statistics.muzzy.value_or(0);
  return state;
}

}  // namespace fathom::allocators
