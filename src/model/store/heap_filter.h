// The heap blocks that a reader selects: by size, lifetime, address, thread, or live at a time. Recordings
// that keep the lifetime of every block (record --each-block) can be read through such a filter; the heap
// tables then cover only these blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/heap.h"

namespace fathom::store {

// Times are from the start of the recording. All conditions must hold.
struct HeapBlockFilter {
  std::uint64_t least_size = 0, most_size = UINT64_MAX;
  // The lifetime of a block that is live at the end has a known minimum: it passes if that is long enough,
  // but never if there is a maximum lifetime.
  std::uint64_t least_lifetime_ns = 0, most_lifetime_ns = UINT64_MAX;
  // Blocks that start in [first, end); without `end`, the block that contains `first`.
  std::optional<std::uint64_t> first_address, end_address;
  std::optional<std::uint64_t> alive_at_ns;     // allocated by then and not yet freed
  std::optional<std::uint64_t> freed_after_ns;  // freed at this time or later; excludes blocks live at the
                                                // end
  bool leaked = false;                          // only blocks live at the end
  std::optional<std::string> freed_by;          // by a thread with this name or tid

  // Number of passing blocks that HeapTables::blocks lists individually: the largest and the oldest ones that
  // are live (at alive_at_ns if given, otherwise at the end). 0: none.
  std::uint32_t keep = 0;
  bool if_recorded =
      false;  // if the recording has no lifetimes of blocks, leave the tables as they are instead of failing

  bool selects_all() const {
    HeapBlockFilter all;
    all.keep = keep;
    all.if_recorded = if_recorded;
    return *this == all;
  }
  bool operator==(const HeapBlockFilter&) const = default;
};

// For one block, whose heap ended at `end_ns`; `start_ns` is the start of the recording (CLOCK_MONOTONIC).
// Ignores freed_by, which needs thread names.
inline bool passes(const HeapBlockFilter& filter, const model::HeapBlock& block, std::uint64_t start_ns,
                   std::uint64_t end_ns) {
  if (block.size < filter.least_size || block.size > filter.most_size) return false;
  const bool live = block.live();
  const std::uint64_t lifetime = !live                         ? block.lifetime_ns
                                 : end_ns > block.allocated_ns ? end_ns - block.allocated_ns
                                                               : 0;
  if (lifetime < filter.least_lifetime_ns) return false;
  if (filter.most_lifetime_ns != UINT64_MAX && (live || lifetime > filter.most_lifetime_ns)) return false;
  if (filter.first_address) {
    if (filter.end_address) {
      if (block.address < *filter.first_address || block.address >= *filter.end_address) return false;
    } else if (block.address != *filter.first_address &&
               *filter.first_address - block.address >= block.size) {  // wraps for blocks that start after it
      return false;
    }
  }
  if (filter.leaked && !live) return false;
  const std::uint64_t freed_ns = block.allocated_ns + block.lifetime_ns;
  const auto from_start = [start_ns](std::uint64_t time_ns) {
    return time_ns > start_ns ? time_ns - start_ns : 0;
  };
  if (filter.alive_at_ns && (from_start(block.allocated_ns) > *filter.alive_at_ns ||
                             (!live && from_start(freed_ns) <= *filter.alive_at_ns)))
    return false;
  return !filter.freed_after_ns || (!live && from_start(freed_ns) >= *filter.freed_after_ns);
}

}  // namespace fathom::store
