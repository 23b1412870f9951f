// The memory layout of jemalloc's records: extents (runs of pages that it allocates, divides into small
// blocks, or keeps free) and their size classes. Pure. Sources: jemalloc include/jemalloc/internal/ of 5.0
// and 5.1 (extent_structs.h), 5.2, 5.3 (edata.h), rtree.h, sc.h; for pages of 4 KiB and a quantum of 16.
//
// fathom finds the version by trial: a record read with the wrong layout contradicts itself (its size does
// not fit its size class, more blocks are free than fit in). How the tree of the records divides an address
// is a separate question (jemalloc_shape.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fathom::allocators::jemalloc {

inline constexpr std::uint32_t kSmallClasses = 36;  // 8 to 14,336 bytes: these are in slabs
inline constexpr std::uint32_t kClasses = 232;

// Bytes of a block of that class; index below kClasses.
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
  unsigned owner_shift;        // of the bit for the allocator of the pages; 0: it has none
  unsigned entry_class_shift;  // of the size class in the second word of a wide entry of the page tree
};
std::span<const Layout> layouts();

enum class ExtentState : std::uint8_t { kActive, kDirty, kMuzzy, kRetained, kInTransition };

struct Extent {
  std::uint64_t start = 0, size = 0;  // of its pages
  ExtentState state = ExtentState::kActive;
  bool slab = false;
  bool of_huge_pages = false;  // from the huge page allocator (opt.hpa), whose free pages have no record
  std::uint32_t arena = 0;
  std::uint32_t size_class = 0;        // for an active one
  std::uint32_t blocks = 0, free = 0;  // for a slab
  std::uint64_t usable = 0;            // for an active one: bytes of its blocks that the program uses
};

// The first three words of a record. nullopt: they contradict each other.
using ExtentWords = std::array<std::uint64_t, 3>;
std::optional<Extent> decode(const Layout& layout, const ExtentWords& words);

}  // namespace fathom::allocators::jemalloc
