// A function of an allocator without names, as seen from code alone: what it may be for, and what calls it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/address.h"

namespace fathom::allocators::nameless {

enum class Role : std::uint8_t {
  kUnknown,
  kMalloc,
  kCalloc,
  kRealloc,
  kMallocx,
  kRallocx,
  kSdallocx,
  kFree,  // free or dallocx: frees without a size
  kPosixMemalign,
  kAlignedAlloc,  // or memalign
  kNew,           // operator new: as malloc, but throws
  kValloc,        // or pvalloc: on whole pages
  kXallocx,       // resizes in place, gives the size
  // Of mimalloc.
  kZalloc,         // as malloc, zeroed
  kMallocAligned,  // as malloc, with an alignment behind the size
  kZallocAligned,
  kNewAligned,      // as kMallocAligned, but throws
  kMallocn,         // as calloc, not zeroed
  kReallocAligned,  // as realloc, with an alignment behind the size
  kReallocarray,    // as realloc, of a count and a size
};
inline constexpr Role kLastRole = Role::kReallocarray;
std::string_view name_of(Role role);  // "malloc"

struct Candidate {
  ElfAddress address;
  std::uint64_t size;  // bytes
  Role label = Role::kUnknown;
  bool by_shape = false;    // labelled by its quick path
  bool by_shim = false;     // labelled by a function of Rust's that hands on to it
  bool is_wrapper = false;  // not the library's: a few bytes that go on into it
  // Places outside of the library that call it or take its address, and those that do so through a word of data.
  std::uint32_t direct = 0, through_words = 0;
  // Words of data that hold its address and that no code names: parts of tables with unknown readers.
  std::uint32_t in_tables = 0;
  // Of one that has no label and may be an entry all the same: those of all these places that are not surely the library's own. Of
  // jemalloc only.
  std::uint32_t from_program = 0;
  std::vector<ElfAddress> goes_on_to{};  // candidates that it jumps to
};

}  // namespace fathom::allocators::nameless
