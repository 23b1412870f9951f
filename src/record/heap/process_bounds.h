// What a process can really have, as the kernel says. The rings are the target's to write: a claim beyond these bounds is
// made up, and is neither added up nor remembered.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fathom::sources::heap {

struct ProcessBounds {
  std::uint64_t address_space = UINT64_MAX;  // bytes, the most that it ever had; fathom's own left out
  std::uint64_t resident = UINT64_MAX;       // bytes, likewise, with what was swapped out
};

// No block is smaller, in any allocator that fathom knows.
inline constexpr std::uint64_t kSmallestBlock = 8;
// Untouched blocks take no memory: this many may be live whatever is resident.
inline constexpr std::uint64_t kBlocksWithoutMemory = 1u << 20;

// Bytes that may be live at a time. Of samples with this mean (0: every call is seen) the sum is an estimate, which is
// believed up to eight of its standard errors above what can be.
inline double most_live_bytes(const ProcessBounds& bounds, std::uint64_t mean) {
  const auto space = static_cast<double>(bounds.address_space), step = static_cast<double>(mean);
  return space + 8 * std::sqrt(space * step) + 8 * step;
}
inline std::uint64_t most_live_blocks(const ProcessBounds& bounds) {
  return std::max(kBlocksWithoutMemory, bounds.resident / kSmallestBlock);
}

}  // namespace fathom::sources::heap
