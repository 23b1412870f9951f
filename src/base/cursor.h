// Cursor: the only way to read untrusted bytes. Little-endian. The first read past the end makes ok() false
// permanently; later reads give 0, so a parser may read a whole record and check once.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace fathom {

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : all_(bytes), rest_(bytes) {}

  template <std::integral T>
  T read() {
    T value{};
    if (auto bytes = take(sizeof(T)); ok_) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  // DWARF 5 section 7.6. More than 64 bits is an error, as is a missing end.
  std::uint64_t read_uleb128() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; ok_; shift += 7) {
      const auto byte = read<std::uint8_t>();
      if (shift >= 63 && byte > (shift == 63 ? 1 : 0)) {
        ok_ = false;
        break;
      }
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return 0;
  }

  std::int64_t read_sleb128() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; ok_ && shift < 70; shift += 7) {
      const auto byte = read<std::uint8_t>();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) {
        if ((byte & 0x40) != 0 && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
        return static_cast<std::int64_t>(value);
      }
    }
    ok_ = false;
    return 0;
  }

  // Up to the next NUL, which is consumed and not returned.
  std::string_view read_c_string() {
    if (!ok_) return {};
    const auto* start = reinterpret_cast<const char*>(rest_.data());
    const auto* end = rest_.empty() ? nullptr : static_cast<const char*>(std::memchr(start, 0, rest_.size()));
    if (end == nullptr) {
      ok_ = false;
      return {};
    }
    const auto length = static_cast<std::size_t>(end - start);
    rest_ = rest_.subspan(length + 1);
    return {start, length};
  }

  std::span<const std::byte> read_bytes(std::uint64_t n) { return take(n); }
  std::string_view read_chars(std::uint64_t n) {
    auto bytes = take(n);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void skip(std::uint64_t n) { take(n); }

  // The next n bytes as a child: a wrong length in one record cannot reach its neighbour.
  Cursor sub(std::uint64_t n) {
    Cursor child(take(n));
    child.ok_ = ok_;
    return child;
  }

  void fail() { ok_ = false; }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty() || !ok_; }
  std::size_t remaining() const { return ok_ ? rest_.size() : 0; }
  std::size_t offset() const { return all_.size() - rest_.size(); }  // for messages
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> take(std::uint64_t n) {
    if (!ok_ || n > rest_.size()) {
      ok_ = false;
      return {};
    }
    auto bytes = rest_.first(static_cast<std::size_t>(n));
    rest_ = rest_.subspan(bytes.size());
    return bytes;
  }

  std::span<const std::byte> all_, rest_;
  bool ok_ = true;
};

}  // namespace fathom
