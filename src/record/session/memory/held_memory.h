// What the allocators of a process hold by their own records, as ranges of what its memory consists of. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attach/allocators/state/present_memory.h"
#include "attach/allocators/state/state.h"
#include "linux/memory/memory_reading.h"
#include "linux/memory/resident_pages.h"
#include "model/free_before.h"
#include "record/session/memory/memory_composition.h"

namespace fathom::session {

allocators::AddressRanges present_of(const sources::ResidentPages& pages);
allocators::AddressRanges huge_pages_of(const sources::MemoryReading& reading);

// "jemalloc"; if two have the same name, "jemalloc of librocksdb.so".
std::string held_label(const allocators::AllocatorStates& states, std::size_t index);
// "live blocks", "free, not given back (dirty)". Live blocks and what is free among them lie in the same pages, and are
// one range.
std::string_view held_words(allocators::HeldKind kind);
inline constexpr std::string_view kRoundingWords = "rounding of huge pages";

// For a process with an untraced heap: rows of named allocators that have no row in the heap's table, because
// only their names are known ("jemalloc: live blocks"). `huge`: huge_pages_of(). After set_pages().
void add_held_by_name(const allocators::AllocatorStates& states, const allocators::AddressRanges& huge,
                      MemoryComposition& composition);

// What all allocators keep free, as far as it is resident, and the one that keeps most of it. nullopt: the records of none of them
// could be read.
std::optional<model::FreeBefore> free_memory_of(const allocators::AllocatorStates& states,
                                                const sources::ResidentPages& pages);

}  // namespace fathom::session
