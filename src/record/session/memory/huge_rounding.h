// What huge pages add to a heap: a page of 2 MiB that holds one live block is resident as a whole. Pure.
//
// It measures an allocator's free memory (free pages, returned pages, ends of heaps) that is resident in a
// huge page together with used memory. Without the huge page it could be returned separately, and its
// untouched parts would not be resident. It cannot measure how much of a live block was never touched.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attach/allocators/state/present_memory.h"
#include "attach/allocators/state/state.h"

namespace fathom::session {

struct HeldPart {
  allocators::HeldRange range;
  bool rounding = false;  // free, and resident in a huge page with live memory
  bool operator==(const HeldPart&) const = default;
};

// `ranges`: ascending, not overlapping; of all allocators of the process. `huge`: what lies on huge pages, ascending.
// The same ranges, split where that begins and ends.
std::vector<HeldPart> split_by_huge_pages(std::span<const allocators::HeldRange> ranges,
                                          const allocators::AddressRanges& huge);

}  // namespace fathom::session
