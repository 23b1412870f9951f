#include "attach/inject/trial/size_tables.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace fathom::inject {
namespace {

// Source: jemalloc's size classes: 8, multiples of 16 up to 128, then four per doubling.
std::vector<std::uint64_t> size_classes() {
  std::vector<std::uint64_t> sizes = {8};
  for (std::uint64_t size = 16; size <= 128; size += 16) sizes.push_back(size);
  for (std::uint64_t step = 32; sizes.size() < 232; step *= 2)
    for (int i = 0; i < 4 && sizes.size() < 232; ++i) sizes.push_back(sizes.back() + step);
  return sizes;
}

}  // namespace

bool are_size_tables(std::span<const std::byte> numbers, std::span<const std::byte> sizes) {
  if (numbers.size() != kNumberTableBytes || sizes.size() != kSizeTableBytes) return false;
  const auto classes = size_classes();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    std::uint64_t size = 0;
    std::memcpy(&size, sizes.data() + i * 8, sizeof size);
    if (size != classes[i]) return false;
  }
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    const auto fits = std::ranges::lower_bound(classes, i * 8) - classes.begin();
    if (std::to_integer<std::ptrdiff_t>(numbers[i]) != fits) return false;
  }
  return true;
}

}  // namespace fathom::inject
