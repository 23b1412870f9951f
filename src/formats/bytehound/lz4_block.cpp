#include "formats/bytehound/lz4_block.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace fathom::formats {
namespace {

constexpr std::size_t kLeastMatch = 4, kLongLength = 15;

class Block {
 public:
  explicit Block(std::string_view rest) : rest_(rest) {}
  bool at_end() const { return rest_.empty(); }
  std::optional<std::uint8_t> byte() {
    if (rest_.empty()) return std::nullopt;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  // Four bits, and where all are set bytes that are added, up to one that is not 255.
  std::optional<std::size_t> length(std::size_t bits) {
    std::size_t sum = bits;
    if (bits != kLongLength) return sum;
    for (;;) {
      const auto more = byte();
      if (!more) return std::nullopt;
      sum += *more;
      if (*more != 255) return sum;
    }
  }
  std::optional<std::string_view> take(std::size_t size) {
    if (size > rest_.size()) return std::nullopt;
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

 private:
  std::string_view rest_;
};

}  // namespace

bool unpack_lz4_block(std::string_view block, std::size_t most, std::string& out) {
  Block in(block);
  const std::size_t begin = out.size();
  const auto room = [&] { return most - (out.size() - begin); };
  while (!in.at_end()) {
    const std::uint8_t token = *in.byte();
    const auto literals = in.length(token >> 4);
    if (!literals) return false;
    const auto text = in.take(*literals);
    if (!text) return false;
    out.append(text->substr(0, room()));
    if (room() == 0 || in.at_end()) return true;  // the last sequence has no match
    const auto low = in.byte(), high = in.byte();
    if (!low || !high) return false;
    const std::size_t distance = *low | std::size_t{*high} << 8;
    auto match = in.length(token & 15);
    if (!match || distance == 0 || distance > out.size() - begin) return false;
    // A match may reach into what it makes itself.
    for (std::size_t left = std::min(*match + kLeastMatch, room()); left > 0;) {
      const std::size_t piece = std::min(left, distance);
      const std::size_t from = out.size() - distance;
      out.resize(out.size() + piece);
      std::copy_n(out.data() + from, piece, out.data() + out.size() - piece);
      left -= piece;
    }
    if (room() == 0) return true;
  }
  return true;
}

}  // namespace fathom::formats
