// The wire format of protocol buffers, written: fields of a number and a value. Source: the encoding page of the protocol
// buffers' documentation. A number of 0 is the default of every schema of version 3 and takes no room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::present {

inline void put_wire_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

class WireWriter {
 public:
  WireWriter& number(std::uint32_t field, std::uint64_t value) {
    if (value == 0) return *this;
    put_wire_varint(bytes_, std::uint64_t{field} << 3);
    put_wire_varint(bytes_, value);
    return *this;
  }
  // Of type int64: a negative one takes ten bytes.
  WireWriter& signed_number(std::uint32_t field, std::int64_t value) {
    return number(field, static_cast<std::uint64_t>(value));
  }
  // Written even where it is 0: in schemas of version 2, and where one of several fields is chosen, 0 says something.
  WireWriter& number_or_zero(std::uint32_t field, std::uint64_t value) {
    put_wire_varint(bytes_, std::uint64_t{field} << 3);
    put_wire_varint(bytes_, value);
    return *this;
  }
  // Of types fixed64 and double.
  WireWriter& fixed(std::uint32_t field, std::uint64_t bits) {
    put_wire_varint(bytes_, std::uint64_t{field} << 3 | 1);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(bits >> (8 * i));
    return *this;
  }
  // A text, a message or packed numbers.
  WireWriter& bytes(std::uint32_t field, std::string_view value) {
    put_wire_varint(bytes_, std::uint64_t{field} << 3 | 2);
    put_wire_varint(bytes_, value.size());
    bytes_ += value;
    return *this;
  }
  WireWriter& message(std::uint32_t field, const WireWriter& value) { return bytes(field, value.bytes_); }
  void clear() { bytes_.clear(); }
  std::string_view view() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace fathom::present
