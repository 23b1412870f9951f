#include "model/store/column.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace fathom::store {
namespace {

enum Encoding : std::uint8_t { kPlain = 0, kRuns = 1 };

std::size_t varint_size(std::uint64_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

// Bit 7 of each byte: another byte of the same value follows.
constexpr std::uint64_t kMore = 0x8080808080808080;

// Puts the lower seven bits of each byte next to each other.
constexpr std::uint64_t without_marks(std::uint64_t bytes) {
  bytes = (bytes & 0x007f007f007f007f) | (bytes & 0x7f007f007f007f00) >> 1;
  bytes = (bytes & 0x00003fff00003fff) | (bytes & 0x3fff00003fff0000) >> 2;
  return (bytes & 0x000000000fffffff) | (bytes & 0x0fffffff00000000) >> 4;
}
static_assert(without_marks(0x01ff) == 0xff && without_marks(0x7fffffffffffffff) == 0x00ffffffffffffff);

// Calls visit(value, length) for each run.
template <class Visit>
void for_each_run(std::span<const std::uint64_t> values, const Visit& visit) {
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i + 1;
    while (end < values.size() && values[end] == values[i]) ++end;
    visit(values[i], end - i);
    i = end;
  }
}

}  // namespace

void put_section(Bytes& out, unsigned number, const Bytes& body) {
  put_varint(out, number);
  put_varint(out, body.size());
  out.insert(out.end(), body.begin(), body.end());
}

void put_text(Bytes& out, std::string_view text) {
  put_varint(out, text.size());
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::string_view read_text(Cursor& in) {
  return in.read_chars(in.read_uleb128());
}

void put_column(Bytes& out, std::span<const std::uint64_t> values) {
  std::size_t plain = 0, runs = 0;
  for_each_run(values, [&](std::uint64_t value, std::size_t length) {
    plain += length * varint_size(value);
    runs += varint_size(value) + varint_size(length - 1);
  });
  if (runs < plain) {
    out.push_back(std::byte{kRuns});
    put_varint(out, runs);
    for_each_run(values, [&](std::uint64_t value, std::size_t length) {
      put_varint(out, value);
      put_varint(out, length - 1);
    });
  } else {
    out.push_back(std::byte{kPlain});
    put_varint(out, plain);
    for (std::uint64_t value : values) put_varint(out, value);
  }
}

ColumnReader::ColumnReader(Cursor& in, std::uint64_t rows) {
  const auto encoding = in.read<std::uint8_t>();
  runs_ = encoding == kRuns;
  const std::span<const std::byte> values = in.read_bytes(in.read_uleb128());
  at_ = reinterpret_cast<const std::uint8_t*>(values.data());
  end_ = at_ + values.size();
  if (!in.ok() || encoding > kRuns || (!runs_ && values.size() < rows)) fail();
}

std::uint64_t ColumnReader::read_long_value() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; at_ != end_; shift += 7) {
    const std::uint8_t byte = *at_++;
    if (shift >= 63 && byte > (shift == 63 ? 1 : 0)) break;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  fail();
  return 0;
}

void ColumnReader::fill(std::span<std::uint64_t> out) {
  if (!runs_) return fill_plain(out);
  while (!out.empty()) {
    if (left_ == 0) read_run();
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(left_, out.size()));
    std::fill_n(out.begin(), length, value_);
    left_ -= length;
    out = out.subspan(length);
  }
}

// Lengths of one and two bytes alternate at random, so a branch for each byte would be predicted wrongly half of the time: eight bytes
// are loaded at once, and lengths are computed. Two values a step, because the next step waits for the length of this one.
void ColumnReader::fill_plain(std::span<std::uint64_t> out) {
  const std::uint8_t* at = at_;
  std::size_t i = 0;
  while (out.size() - i >= 8 && end_ - at >= 8) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, at, sizeof(bytes));
    const std::uint64_t ends = ~bytes & kMore, after_first = ends & (ends - 1);
    if (ends == kMore) {  // eight values
      for (unsigned shift = 0; shift < 64; shift += 8) out[i++] = bytes >> shift & 0xff;
      at += 8;
    } else if (after_first != 0) {
      const std::uint64_t first = ends ^ (ends - 1),
                          both = after_first ^ (after_first - 1);  // masks of whole bytes
      out[i++] = without_marks(bytes & first);
      out[i++] = without_marks((bytes & both & ~first) >> std::countr_one(first));
      at += std::countr_one(both) / 8;
    } else if (ends != 0) {
      out[i++] = without_marks(bytes & (ends ^ (ends - 1)));
      at += std::countr_zero(ends) / 8 + 1;
    } else {  // more than eight bytes
      at_ = at;
      out[i++] = read_long_value();
      at = at_;
    }
  }
  at_ = at;
  for (; i < out.size(); ++i) out[i] = read_value();
}

void ColumnReader::read_run() {
  value_ = read_value();
  const std::uint64_t more = read_value();
  if (more == std::numeric_limits<std::uint64_t>::max()) fail();
  left_ = ok_ ? more + 1 : 1;
}

}  // namespace fathom::store
