// How jemalloc's records lie in memory: extents (the runs of pages that it hands out, divides into small blocks, or
// keeps free) and their size classes. Pure. Sources: jemalloc include/jemalloc/internal/ of 5.0 and 5.1
// (extent_structs.h), 5.2, 5.3 (edata.h), rtree.h, sc.h; for pages of 4 KiB and a quantum of 16.
//
// Which version it is, is tried and not looked up: a record read by the wrong layout does not agree with itself (its
// size is none of its size class, more blocks are free than fit in). How the tree that leads to the records divides an
// address is a second question (jemalloc_shape.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fathom::allocators::jemalloc {

inline constexpr std::uint32_t kSmallClasses = 36;  // 8 to 14,336 bytes: these live in slabs
inline constexpr std::uint32_t kClasses = 232;

// Bytes of a block of that class; below kClasses.
constexpr std::uint64_t class_size(std::uint32_t index) {
  if (index == 0) return 8;
  if (index <= 8) return std::uint64_t{16} * index;
  const std::uint32_t group = (index - 9) / 4, step = (index - 9) % 4;
  return (std::uint64_t{32} << group) * (step + 5);
}
static_assert(class_size(9) == 160 && class_size(12) == 256 && class_size(13) == 320);
static_assert(class_size(kSmallClasses - 1) == 14336 && class_size(kSmallClasses) == 16384);

struct Layout {
  std::string_view versions;
  unsigned state_shift, state_bits, class_shift, free_shift;
  unsigned owner_shift;        // of the bit that says who handed the pages out; 0: it has none
  unsigned entry_class_shift;  // of the size class in the second word of a wide entry of the page tree
};
std::span<const Layout> layouts();

enum class ExtentState : std::uint8_t { kActive, kDirty, kMuzzy, kRetained, kInTransition };

struct Extent {
  std::uint64_t start = 0, size = 0;  // of its pages
  ExtentState state = ExtentState::kActive;
  bool slab = false;
  bool of_huge_pages =
      false;  // handed out by the huge page allocator (opt.hpa), whose free pages have no record
  std::uint32_t arena = 0;
  std::uint32_t size_class = 0;        // of an active one
  std::uint32_t blocks = 0, free = 0;  // of a slab
  std::uint64_t usable = 0;            // of an active one: bytes of its blocks that the program has
};

// The first three words of a record. nullopt: they do not agree with each other.
using ExtentWords = std::array<std::uint64_t, 3>;
std::optional<Extent> decode(const Layout& layout, const ExtentWords& words);

}  // namespace fathom::allocators::jemalloc
