#include "attach/allocators/state/jemalloc_layout.h"

#include "attach/allocators/state/present_memory.h"

namespace fathom::allocators::jemalloc {
namespace {

// The fields starting at the lowest bit: 12 arena, slab, committed, [dumpable or owner of the pages,] zeroed,
// [guarded,] state, 8 size class, 10 free blocks. In a wide entry of the tree, 5.3 has the size class above
// flags and the state; until 5.2 it is a separate number.
constexpr Layout kLayouts[] = {
    {"5.3", 17, 3, 20, 28, 14, 5},
    {"5.1 or 5.2", 16, 2, 18, 26, 0, 0},
    {"5.0", 15, 2, 17, 25, 0, 0},
};
constexpr std::uint32_t kNoArena = 4095, kMostBlocks = 512;

}  // namespace

std::span<const Layout> layouts() {
  return kLayouts;
}

std::optional<Extent> decode(const Layout& layout, const ExtentWords& words) {
  const auto [bits, address, size_and_number] = words;
  Extent extent;
  extent.start = address & ~(kPageBytes - 1);  // a large block may begin later in its first page
  extent.size = size_and_number & ~(kPageBytes - 1);
  if (extent.start == 0 || extent.start >= kAddressLimit || extent.size == 0 ||
      extent.size > kAddressLimit - extent.start)
    return std::nullopt;
  extent.arena = static_cast<std::uint32_t>(bits & 0xfff);
  extent.of_huge_pages = layout.owner_shift != 0 && (bits >> layout.owner_shift & 1) != 0;
  extent.slab = (bits >> 12 & 1) != 0;
  const std::uint64_t state = bits >> layout.state_shift & ((1u << layout.state_bits) - 1);
  extent.size_class = static_cast<std::uint32_t>(bits >> layout.class_shift & 0xff);
  if (extent.arena == kNoArena || state > 5) return std::nullopt;
  extent.state = state > 3 ? ExtentState::kInTransition : static_cast<ExtentState>(state);
  if (extent.state != ExtentState::kActive) {
    extent.slab = false;  // may still have its value from earlier use
    return extent;
  }
  if (extent.size_class >= kClasses) return std::nullopt;
  const std::uint64_t block = class_size(extent.size_class);
  if (extent.slab) {
    const std::uint64_t blocks = extent.size / block;
    extent.free = static_cast<std::uint32_t>(bits >> layout.free_shift & 0x3ff);
    if (extent.size_class >= kSmallClasses || blocks == 0 || blocks > kMostBlocks || extent.free > blocks)
      return std::nullopt;
    extent.blocks = static_cast<std::uint32_t>(blocks);
    extent.usable = (blocks - extent.free) * block;
    return extent;
  }
  // jemalloc's own profiler gives a sampled small block pages of its own: those of the first large class.
  const std::uint64_t pages = extent.size_class < kSmallClasses ? class_size(kSmallClasses) : block;
  if (extent.size != pages && extent.size != pages + kPageBytes) return std::nullopt;
  extent.usable = block;
  return extent;
}

}  // namespace fathom::allocators::jemalloc
