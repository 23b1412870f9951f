// What LLVM packs into the discriminator of a line (llvm-project, DebugInfoMetadata.h): which part of the line it is, and how many
// copies of the instruction an unrolled loop has. Pure.
#pragma once

#include <cstdint>

namespace fathom::feedback {

struct Discriminator {
  std::uint32_t base = 0;    // the part of the line; what profiles are written with
  std::uint32_t copies = 1;  // each sample stands for so many
  bool operator==(const Discriminator&) const = default;
};

namespace discriminator {

// One component: a set lowest bit is an empty one, and bit 6 makes it twice as long.
constexpr std::uint32_t first(std::uint32_t packed) {
  if ((packed & 1) != 0) return 0;
  const std::uint32_t value = packed >> 1;
  return (value & 0x20) != 0 ? ((value >> 1) & 0xfe0) | (value & 0x1f) : value & 0x1f;
}
constexpr std::uint32_t behind_first(std::uint32_t packed) {
  if ((packed & 1) != 0) return packed >> 1;
  return packed >> ((packed & 0x40) != 0 ? 14 : 7);
}

}  // namespace discriminator

constexpr Discriminator unpack_discriminator(std::uint32_t packed) {
  const std::uint32_t copies = discriminator::first(discriminator::behind_first(packed));
  return {discriminator::first(packed), copies == 0 ? 1 : copies};
}

}  // namespace fathom::feedback
