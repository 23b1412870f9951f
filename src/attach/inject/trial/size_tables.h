// jemalloc's tables of sizes, as filled when the library has started.
#pragma once

#include <cstddef>
#include <span>

namespace fathom::inject {

// Whether memory contains jemalloc's tables of sizes: 513 numbers of size classes, and the sizes of 232
// classes. Both for pages of 4 KiB and classes of 16 bytes, the usual build.
bool are_size_tables(std::span<const std::byte> numbers, std::span<const std::byte> sizes);
inline constexpr std::size_t kNumberTableBytes = 513, kSizeTableBytes = 232 * 8;

}  // namespace fathom::inject
