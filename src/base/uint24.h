// A number below 16,777,216 in three bytes, for rows of which a table has millions: a field of one byte fits next to it, where a
// bit-field of 24 bits would turn into an int in every sum. It reads as the number that it is.
#pragma once

#include <array>
#include <cassert>
#include <compare>
#include <cstdint>

namespace fathom {

class Uint24 {
 public:
  static constexpr std::uint32_t kMost = 0xff'ffff;

  constexpr Uint24() = default;
  // `value` is at most kMost. Code that fills a table checks its size, and not each row.
  constexpr explicit Uint24(std::uint32_t value)
      : bytes_{static_cast<std::uint8_t>(value), static_cast<std::uint8_t>(value >> 8),
               static_cast<std::uint8_t>(value >> 16)} {
    assert(value <= kMost);
  }
  constexpr Uint24& operator=(std::uint32_t value) { return *this = Uint24(value); }
  constexpr operator std::uint32_t() const {  // NOLINT(google-explicit-constructor)
    return std::uint32_t{bytes_[0]} | std::uint32_t{bytes_[1]} << 8 | std::uint32_t{bytes_[2]} << 16;
  }
  friend constexpr bool operator==(Uint24 a, Uint24 b) { return std::uint32_t{a} == std::uint32_t{b}; }
  friend constexpr auto operator<=>(Uint24 a, Uint24 b) { return std::uint32_t{a} <=> std::uint32_t{b}; }

 private:
  std::array<std::uint8_t, 3> bytes_{};
};
static_assert(sizeof(Uint24) == 3 && alignof(Uint24) == 1);

}  // namespace fathom
