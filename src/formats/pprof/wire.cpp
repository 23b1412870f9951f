#include "formats/pprof/wire.h"

namespace fathom::formats {

bool take_varint(std::string_view& from, std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < from.size() && i < 10; ++i) {
    const auto byte = static_cast<std::uint8_t>(from[i]);
    if (i == 9 && byte > 1) return false;  // more than 64 bits
    value |= std::uint64_t{byte & 0x7fu} << (7 * i);
    if ((byte & 0x80) == 0) {
      from.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

bool WireFields::next() {
  if (!ok_ || rest_.empty()) return false;
  std::uint64_t key = 0;
  if (!take_varint(rest_, key) || key >> 3 == 0 || key >> 3 > 0x1fffffff) return damaged();
  number_ = static_cast<std::uint32_t>(key >> 3);
  value_ = 0;
  bytes_ = {};
  is_bytes_ = (key & 7) == 2;
  switch (key & 7) {
    case 0:
      return take_varint(rest_, value_) || damaged();
    case 1:
    case 5: {
      const std::size_t size = (key & 7) == 1 ? 8 : 4;
      if (rest_.size() < size) return damaged();
      for (std::size_t i = 0; i < size; ++i)
        value_ |= std::uint64_t{static_cast<std::uint8_t>(rest_[i])} << (8 * i);
      rest_.remove_prefix(size);
      return true;
    }
    case 2: {
      std::uint64_t size = 0;
      if (!take_varint(rest_, size) || size > rest_.size()) return damaged();
      bytes_ = rest_.substr(0, static_cast<std::size_t>(size));
      rest_.remove_prefix(static_cast<std::size_t>(size));
      return true;
    }
    default:
      return damaged();
  }
}

}  // namespace fathom::formats
