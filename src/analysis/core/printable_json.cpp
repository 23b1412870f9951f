#include "analysis/core/printable_json.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

namespace fathom::analysis {
namespace {

// U+0080 to U+009F and marks of direction, in UTF-8; 0: `text` begins with none. The set is that of words.cpp.
std::size_t length_of_command(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  if (byte(0) == 0x7F) return 1;
  if (byte(0) == 0xC2) return byte(1) < 0xA0 ? 2 : 0;
  if (byte(0) == 0xD8) return byte(1) == 0x9C ? 2 : 0;
  if (byte(0) != 0xE2) return 0;
  const bool general =
      byte(1) == 0x80 && (byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE));
  return general || (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9) ? 3 : 0;
}

}  // namespace

std::string printable_json(std::string json) {
  std::size_t at = 0;
  while (at < json.size() && length_of_command(std::string_view(json).substr(at)) == 0) ++at;
  if (at == json.size()) return json;
  std::string out = json.substr(0, at);
  while (at < json.size()) {
    const std::size_t length = length_of_command(std::string_view(json).substr(at));
    if (length == 0) {
      out += json[at++];
      continue;
    }
    const auto bits = [&](std::size_t i) { return static_cast<unsigned>(json[at + i]) & 0x3FU; };
    const auto first = static_cast<unsigned char>(json[at]);
    const unsigned code = length == 1   ? first
                          : length == 2 ? (first & 0x1FU) << 6 | bits(1)
                                        : (first & 0x0FU) << 12 | bits(1) << 6 | bits(2);
    out += fmt::format("\\u{:04x}", code);
    at += length;
  }
  return out;
}

}  // namespace fathom::analysis
