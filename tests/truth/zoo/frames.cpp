// Frames of unusual shape: sizes known only at run time, re-aligned, enormous, very many, and without an
// unwind table.
#include <alloca.h>

#include <cstring>

#include "zoo.h"

// leaf.S
extern "C" std::uint64_t zoo_leaf_without_cfi(std::uint64_t rounds);
extern "C" std::uint64_t zoo_framed_without_cfi(std::uint64_t (*callee)(std::uint64_t), std::uint64_t rounds);

ZOO_FUNCTION std::uint64_t zoo_alloca(std::size_t size) {
  auto* bytes = static_cast<unsigned char*>(alloca(size));
  std::memset(bytes, 1, size);
  const std::uint64_t value = zoo_burn(5'000);
  asm volatile("" ::"r"(bytes) : "memory");
  return value;
}

ZOO_FUNCTION std::uint64_t zoo_aligned(std::uint64_t seed) {
  alignas(64) std::uint64_t values[32];
  for (std::size_t i = 0; i < 32; ++i) values[i] = seed + i;
  asm volatile("" ::"r"(values) : "memory");
  return zoo_burn(5'000) + values[seed % 32];
}

// Re-aligned, with a size known only at run time: a saved pointer leads back to the frame.
ZOO_FUNCTION std::uint64_t zoo_aligned_alloca(std::size_t size) {
  alignas(64) std::uint64_t values[8]{size};
  auto* bytes = static_cast<unsigned char*>(alloca(size));
  std::memset(bytes, 2, size);
  asm volatile("" ::"r"(values), "r"(bytes) : "memory");
  return zoo_burn(5'000) + values[size % 8];
}

ZOO_FUNCTION std::uint64_t zoo_huge(std::uint64_t seed) {
  unsigned char bytes[600 * 1024];
  for (std::size_t i = 0; i < sizeof(bytes); i += 4096) bytes[i] = static_cast<unsigned char>(seed);
  asm volatile("" ::"r"(bytes) : "memory");
  return zoo_burn(20'000) + bytes[seed % sizeof(bytes)];
}

ZOO_FUNCTION std::uint64_t zoo_recursion(int depth) {
  const std::uint64_t value = depth == 0 ? zoo_burn(100'000) : zoo_recursion(depth - 1);
  asm volatile("" ::: "memory");
  return value + 1;
}

namespace zoo {

void scene_alloca(Deadline deadline) {
  for (std::size_t size = 16; !passed(deadline); size = size % 4000 + 40) zoo_alloca(size);
}

void scene_aligned(Deadline deadline) {
  for (std::size_t i = 16; !passed(deadline); i = i % 3000 + 24) {
    zoo_aligned(i);
    zoo_aligned_alloca(i);
  }
}

void scene_huge(Deadline deadline) {
  for (std::uint64_t i = 0; !passed(deadline); ++i) zoo_huge(i);
}

void scene_recursion(Deadline deadline) {
  while (!passed(deadline)) zoo_recursion(900);
}

void scene_assembly(Deadline deadline) {
  while (!passed(deadline)) {
    zoo_leaf_without_cfi(50'000);
    zoo_framed_without_cfi(zoo_burn, 20'000);
  }
}

}  // namespace zoo
