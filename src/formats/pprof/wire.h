// The wire format of protocol buffers: fields of a number and a value, without names. Source: the encoding page of the
// protocol buffers' documentation. Groups, which no schema has used for fifteen years, end the message as damaged.
#pragma once

#include <cstdint>
#include <string_view>

namespace fathom::formats {

class WireFields {
 public:
  explicit WireFields(std::string_view message) : rest_(message) {}

  // The next field; false at the end, and where the bytes make no sense: then ok() is false.
  bool next();
  bool ok() const { return ok_; }

  std::uint32_t number() const { return number_; }
  bool is_bytes() const { return is_bytes_; }
  std::uint64_t value() const { return value_; }     // of numbers; 0 for bytes
  std::string_view bytes() const { return bytes_; }  // of texts, messages and packed numbers
  std::int64_t signed_value() const { return static_cast<std::int64_t>(value_); }

 private:
  bool damaged() { return ok_ = false; }
  std::string_view rest_, bytes_;
  std::uint64_t value_ = 0;
  std::uint32_t number_ = 0;
  bool is_bytes_ = false, ok_ = true;
};

// Takes a number off the front; false where there is no whole one, with `from` as it was.
bool take_varint(std::string_view& from, std::uint64_t& value);

}  // namespace fathom::formats
