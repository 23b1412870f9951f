#include "formats/parquet/hybrid.h"

#include <algorithm>
#include <bit>

namespace fathom::parquet {
namespace {

constexpr std::size_t kGroup = 8;
constexpr std::uint64_t kMostReserved = 1'000'000;  // what a damaged file claims costs no more

void put_varint_to(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

template <class Number>
std::size_t run_at(const std::vector<Number>& values, std::size_t at) {
  std::size_t end = at + 1;
  while (end < values.size() && values[end] == values[at]) ++end;
  return end - at;
}

// Lowest bits first; zeros after the last value.
template <class Number>
void put_groups(const std::vector<Number>& values, std::size_t from, std::size_t until, unsigned bits,
                std::string& out) {
  const std::size_t groups = (until - from + kGroup - 1) / kGroup;
  put_varint_to(out, groups << 1 | 1);
  std::uint64_t waiting = 0;
  unsigned filled = 0;
  for (std::size_t i = from; i < from + groups * kGroup; ++i) {
    waiting |= (i < until ? static_cast<std::uint64_t>(values[i]) : 0) << filled;
    for (filled += bits; filled >= 8; filled -= 8, waiting >>= 8) out += static_cast<char>(waiting & 0xff);
  }
}

}  // namespace

unsigned bits_for(std::uint64_t largest) {
  return static_cast<unsigned>(std::bit_width(largest));
}

template <class Number>
std::string hybrid_encode(const std::vector<Number>& values, unsigned bits) {
  std::string out;
  for (std::size_t at = 0; at < values.size();) {
    const std::size_t run = run_at(values, at);
    if (run >= kGroup) {
      put_varint_to(out, run << 1);
      for (unsigned byte = 0; byte < (bits + 7) / 8; ++byte)
        out += static_cast<char>(static_cast<std::uint64_t>(values[at]) >> (8 * byte));
      at += run;
      continue;
    }
    // Whole groups until a run begins. A run that begins inside of a group gives it its first values.
    std::size_t until = at;
    do {
      until = std::min(until + kGroup, values.size());
    } while (until < values.size() && run_at(values, until) < kGroup);
    put_groups(values, at, until, bits, out);
    at = until;
  }
  return out;
}

template std::string hybrid_encode(const std::vector<std::uint64_t>&, unsigned);
template std::string hybrid_encode(const std::vector<std::uint8_t>&, unsigned);

void hybrid_decode(Cursor& in, unsigned bits, std::uint64_t count, std::vector<std::uint32_t>& out) {
  if (bits > 32) in.fail();
  out.reserve(out.size() + std::min(count, kMostReserved));
  while (count != 0 && in.ok()) {
    const std::uint64_t head = in.read_uleb128();
    if ((head & 1) == 0) {
      std::uint32_t value = 0;
      for (unsigned byte = 0; byte < (bits + 7) / 8; ++byte)
        value |= static_cast<std::uint32_t>(in.read<std::uint8_t>()) << (8 * byte);
      const std::uint64_t run = std::min(head >> 1, count);
      if (run == 0) in.fail();
      if (!in.ok()) return;
      out.insert(out.end(), static_cast<std::size_t>(run), value);
      count -= run;
      continue;
    }
    // The last group may be cut off where no value is left.
    const std::uint64_t groups = head >> 1, wanted = std::min(groups, (count + kGroup - 1) / kGroup);
    if (groups == 0 || (bits != 0 && wanted > in.remaining() / bits + 1)) in.fail();
    const auto packed = in.read_bytes(std::min<std::uint64_t>(wanted * bits, in.remaining()));
    const std::uint64_t values = std::min<std::uint64_t>(wanted * kGroup, count);
    if (!in.ok() || packed.size() * 8 < values * bits) return in.fail();
    std::uint64_t waiting = 0;
    unsigned filled = 0;
    std::size_t next = 0;
    for (std::uint64_t i = 0; i < values; ++i) {
      for (; filled < bits; filled += 8) waiting |= static_cast<std::uint64_t>(packed[next++]) << filled;
      out.push_back(static_cast<std::uint32_t>(waiting & ((std::uint64_t{1} << bits) - 1)));
      waiting >>= bits;
      filled -= bits;
    }
    count -= values;
    if (groups > wanted) in.skip(std::min<std::uint64_t>((groups - wanted) * bits, in.remaining()));
  }
}

}  // namespace fathom::parquet
