// jemalloc's tables of sizes, as they are once the library has begun.
#pragma once

#include <cstddef>
#include <span>

namespace fathom::inject {

// Whether memory holds jemalloc's tables of sizes: 513 numbers of size classes, and the sizes of 232 classes. Both on
// pages of 4 KiB and with classes of 16 bytes, as everybody builds it.
bool are_size_tables(std::span<const std::byte> numbers, std::span<const std::byte> sizes);
inline constexpr std::size_t kNumberTableBytes = 513, kSizeTableBytes = 232 * 8;

}  // namespace fathom::inject
