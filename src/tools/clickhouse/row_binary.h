// ClickHouse's RowBinary: fixed numbers are little-endian, strings and arrays have a varint for their length before them.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/cursor.h"

namespace fathom::clickhouse {

class RowBinaryWriter {
 public:
  template <std::integral T>
  RowBinaryWriter& number(T value) {
    static_assert(std::endian::native == std::endian::little);
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out_.append(bytes, sizeof(T));
    return *this;
  }
  RowBinaryWriter& varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
    return *this;
  }
  RowBinaryWriter& text(std::string_view value) {
    varint(value.size());
    out_ += value;
    return *this;
  }
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

// A length that does not fit into the rest gives an empty view, and the cursor is not ok() any more.
inline std::string_view read_text(Cursor& in) {
  return in.read_chars(in.read_uleb128());
}

}  // namespace fathom::clickhouse
