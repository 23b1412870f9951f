#include "present/text/character_width.h"

#include <algorithm>

#include "present/text/width_table.h"

namespace fathom::present {
namespace {

std::size_t columns_of(std::uint32_t character) {
  // The last change at or before it.
  const auto next = std::upper_bound(kWidthChanges.begin(), kWidthChanges.end(), character * 4 + 3);
  return next == kWidthChanges.begin() ? 1 : *(next - 1) & 3;
}

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t first = byte(0);
  if (first >= 0x20 && first < 0x7f) return {};
  if (first < 0x80) return {1, columns_of(first)};
  // Bytes that follow, and the least character that needs as many.
  const std::size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  if (first < 0xc0 || first > 0xf7 || text.size() <= more) return {};
  std::uint32_t character = first & (0x3fU >> more);
  for (std::size_t i = 1; i <= more; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    character = character << 6 | (byte(i) & 0x3fU);
  }
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  if (character < kLeast[more] || character > 0x10ffff || surrogate) return {};
  return {more + 1, columns_of(character)};
}

}  // namespace fathom::present
