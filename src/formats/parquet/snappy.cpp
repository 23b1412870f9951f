#include "formats/parquet/snappy.h"

#include <span>

#include "base/cursor.h"

namespace fathom::parquet {
namespace {

// Bytes `distance` before the end, once more. They may overlap what they make: that is how runs are packed.
bool repeat(std::string& out, std::uint64_t distance, std::uint64_t length, std::uint64_t most) {
  if (distance == 0 || distance > out.size() || length > most - out.size()) return false;
  const std::size_t from = out.size() - distance;
  if (distance >= length)
    out.append(out, from, length);
  else
    for (std::uint64_t i = 0; i < length; ++i) out += out[from + i];
  return true;
}

std::uint64_t little_endian_number(Cursor& in, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= std::uint64_t{in.read<std::uint8_t>()} << (8 * i);
  return value;
}

}  // namespace

std::optional<std::string> unpack_snappy(std::string_view packed, std::uint64_t size) {
  Cursor in(std::as_bytes(std::span(packed.data(), packed.size())));
  if (in.read_uleb128() != size || !in.ok()) return std::nullopt;
  std::string out;
  while (!in.at_end()) {
    const auto tag = in.read<std::uint8_t>();
    const unsigned kind = tag & 3, rest = tag >> 2;
    bool fits = true;
    if (kind == 0) {  // so many bytes as they are; the length follows if it is 61 or more
      const std::uint64_t length = rest < 60 ? rest + 1 : little_endian_number(in, rest - 59) + 1;
      const std::string_view bytes = in.read_chars(length);
      fits = bytes.size() <= size - out.size();
      if (fits) out += bytes;
    } else if (kind == 1) {
      const std::uint64_t distance = std::uint64_t{rest >> 3} << 8 | in.read<std::uint8_t>();
      fits = repeat(out, distance, (rest & 7) + 4, size);
    } else {
      fits = repeat(out, little_endian_number(in, kind == 2 ? 2 : 4), rest + 1, size);
    }
    if (!fits || !in.ok()) return std::nullopt;
  }
  return out.size() == size ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace fathom::parquet
