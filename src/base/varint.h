// Variable-length integers for our own files: unsigned LEB128, and zigzag for signed differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fathom {

using Bytes = std::vector<std::byte>;

inline void put_varint(Bytes& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<std::byte>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<std::byte>(value));
}

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}
static_assert(unzigzag(zigzag(INT64_MIN)) == INT64_MIN && unzigzag(zigzag(-1)) == -1 && zigzag(-1) == 1);

inline void put_signed_varint(Bytes& out, std::int64_t value) {
  put_varint(out, zigzag(value));
}

}  // namespace fathom
