// A file with bytes changed by chance, every third copy of it cut short, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fathom::allocators::nameless {

inline std::vector<std::vector<std::byte>> damaged_copies(std::span<const std::byte> bytes, int changes) {
  constexpr std::size_t kCopies = 12;
  std::vector<std::vector<std::byte>> copies;
  std::uint64_t random = 1;
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    std::vector<std::byte> damaged(bytes.begin(), bytes.end());
    if (copy % 3 == 0) damaged.resize(damaged.size() * (copy + 1) / (kCopies + 1));
    for (int i = 0; i < changes && !damaged.empty(); ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      damaged[(random >> 20) % damaged.size()] = std::byte(random >> 56);
    }
    copies.push_back(std::move(damaged));
  }
  return copies;
}

}  // namespace fathom::allocators::nameless
