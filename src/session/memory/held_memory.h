// What the allocators of a process hold by their own records, as ranges of what its memory consists of. Pure.
#pragma once

#include <string>
#include <string_view>

#include "allocators/state/present_memory.h"
#include "allocators/state/state.h"
#include "session/memory/memory_composition.h"
#include "sources/memory/memory_reading.h"
#include "sources/memory/resident_pages.h"

namespace fathom::session {

allocators::AddressRanges present_of(const sources::ResidentPages& pages);
allocators::AddressRanges huge_pages_of(const sources::MemoryReading& reading);

// "jemalloc"; of two of the same name "jemalloc of librocksdb.so".
std::string held_label(const allocators::AllocatorStates& states, std::size_t index);
// "live blocks", "free, not given back (dirty)". Live blocks and what is free among them lie in the same pages, and are
// one range.
std::string_view held_words(allocators::HeldKind kind);
inline constexpr std::string_view kRoundingWords = "rounding of huge pages";

// For a process whose heap is not traced: rows of allocators that are named and have no row of their own in the heap's
// table, as nothing more is known of them ("jemalloc: live blocks"). `huge`: huge_pages_of(). After set_pages().
void add_held_by_name(const allocators::AllocatorStates& states, const allocators::AddressRanges& huge,
                      MemoryComposition& composition);

}  // namespace fathom::session
