// How jemalloc's page tree divides an address: a root in the module's data, tables, leaves, and in a leaf an
// entry for each page. Pure. Sources: jemalloc include/jemalloc/internal/rtree.h of 5.0 to 5.3, and its
// configure.ac.
//
// The shape does not depend on the version. jemalloc's configure asks the build machine's CPU how many bits
// an address has: 57 on a machine with five levels of page tables, although it may never get such an address;
// 48 on all others. So the same source has two shapes, and fathom tries both.
#pragma once

#include <cstdint>
#include <span>

#include "attach/allocators/state/jemalloc_layout.h"
#include "attach/allocators/state/present_memory.h"

namespace fathom::allocators::jemalloc {

struct TreeShape {
  unsigned levels;            // of tables; leaves are level 0, the root is the last
  unsigned index_bits;        // of an address, for the index in a table; the same at each level
  std::uint64_t entry_bytes;  // in a leaf; a higher table holds addresses

  constexpr std::uint64_t table_entries() const { return std::uint64_t{1} << index_bits; }
  constexpr std::uint64_t table_bytes(unsigned level) const {
    return table_entries() * (level == 0 ? entry_bytes : 8);
  }
  constexpr unsigned root_level() const { return levels - 1; }
  // The size of the address range of one entry in a table at that level.
  constexpr std::uint64_t span(unsigned level) const { return kPageBytes << (index_bits * level); }
  constexpr std::uint64_t index(unsigned level, std::uint64_t address) const {
    return address / span(level) & (table_entries() - 1);
  }
  // Sixteen bits of a 48-bit address are free: they hold the size class, and flags below the record's
  // alignment. With more bits, the record is one word and these are a second one.
  constexpr bool wide() const { return entry_bytes > 8; }
};

inline constexpr TreeShape kShapes[] = {
    {2, 18, 8},   // 48 bits: 12 of them are inside a page
    {3, 15, 16},  // 57 bits
};
static_assert(kShapes[0].table_bytes(1) == 1 << 21 && kShapes[0].table_bytes(0) == 1 << 21);
static_assert(kShapes[0].span(1) == std::uint64_t{1} << 30);
static_assert(kShapes[1].table_bytes(2) == 1 << 18 && kShapes[1].table_bytes(0) == 1 << 19);
static_assert(kShapes[1].span(2) == std::uint64_t{1} << 42);

// The content of a leaf's entry.
struct LeafEntry {
  std::uint64_t record = 0;  // its address; 0: the page has no record
  std::uint64_t rest = 0;    // contains the size class
};
// `words` begin with the entry's words.
constexpr LeafEntry leaf_entry(const TreeShape& shape, std::span<const std::uint64_t> words) {
  constexpr std::uint64_t kRecordBits = 0x0000'ffff'ffff'ffc0;  // above is the size class, below are flags
  if (!shape.wide()) return {words[0] & kRecordBits, words[0] >> 48};
  return {(words[0] & ~kRecordBits) == 0 ? words[0] : 0, words[1]};
}
constexpr std::uint32_t size_class(const TreeShape& shape, const Layout& layout, std::uint64_t rest) {
  return static_cast<std::uint32_t>((shape.wide() ? rest >> layout.entry_class_shift : rest) & 0xff);
}

}  // namespace fathom::allocators::jemalloc
