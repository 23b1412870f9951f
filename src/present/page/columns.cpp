#include "present/page/columns.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>

#include "base/varint.h"

namespace fathom::page {
namespace {

void put(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

bool is_whole(double value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  return value >= 0 && value < kExact && !std::signbit(value) && value == std::floor(value);
}

}  // namespace

void Columns::close(const std::string& name, ColumnKind kind, std::uint64_t offset, std::uint64_t count) {
  places_.push_back({name, kind, offset, bytes_.size() - offset, count});
}

void Columns::add_unsigned(const std::string& name, std::span<const std::uint64_t> values) {
  const std::uint64_t offset = bytes_.size();
  for (const std::uint64_t value : values) put(bytes_, value);
  close(name, ColumnKind::kUnsigned, offset, values.size());
}

template <class Number>
void Columns::put_differences(const std::string& name, std::span<const Number> values) {
  const std::uint64_t offset = bytes_.size();
  std::uint64_t last = 0;  // wraps around where two values are further apart than a number can say
  for (const Number value : values) {
    put(bytes_, zigzag(static_cast<std::int64_t>(static_cast<std::uint64_t>(value) - last)));
    last = static_cast<std::uint64_t>(value);
  }
  close(name, ColumnKind::kDifferences, offset, values.size());
}

void Columns::add_differences(const std::string& name, std::span<const std::int64_t> values) {
  put_differences(name, values);
}

void Columns::add_differences(const std::string& name, std::span<const std::uint32_t> values) {
  put_differences(name, values);
}

void Columns::add_reals(const std::string& name, std::span<const double> values) {
  const std::uint64_t offset = bytes_.size();
  if (std::ranges::all_of(values, is_whole)) {
    for (const double value : values) put(bytes_, static_cast<std::uint64_t>(value));
    return close(name, ColumnKind::kUnsigned, offset, values.size());
  }
  bytes_.resize(bytes_.size() + values.size_bytes());
  if (!values.empty()) std::memcpy(bytes_.data() + offset, values.data(), values.size_bytes());
  close(name, ColumnKind::kReal, offset, values.size());
}

void Columns::add_entries(const std::string& name, std::span<const std::uint32_t> first,
                          std::span<const std::uint32_t> slices, std::span<const std::int64_t> values) {
  std::uint64_t offset = bytes_.size();
  for (std::size_t cell = 0; cell + 1 < first.size(); ++cell) {
    std::uint32_t next = 0;  // the first slice that an entry may have
    for (std::uint32_t i = first[cell]; i < first[cell + 1]; ++i) {
      assert(slices[i] >= next);
      put(bytes_, std::uint64_t{slices[i] - next} << 1 | (values[i] == 1 ? 0 : 1));
      next = slices[i] + 1;
    }
  }
  close(name + ".slice", ColumnKind::kSteps, offset, slices.size());
  offset = bytes_.size();
  std::uint64_t last = 0, count = 0;
  for (const std::int64_t value : values) {
    if (value == 1) continue;
    put(bytes_, zigzag(static_cast<std::int64_t>(static_cast<std::uint64_t>(value) - last)));
    last = static_cast<std::uint64_t>(value);
    ++count;
  }
  close(name + ".value", ColumnKind::kDifferences, offset, count);
}

Result<std::string> compress(std::span<const std::string_view> parts) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  // Level 9 takes three times as long as 6, for one part in a hundred.
  if (deflateInit2(&stream, 6, Z_DEFLATED, kGzip, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    return fail(ErrorKind::kSystem, "zlib could not be started");
  std::string out;
  std::array<char, 1 << 16> room{};
  int outcome = Z_OK;
  for (std::size_t part = 0; part <= parts.size() && outcome == Z_OK; ++part) {
    std::string_view left = part < parts.size() ? parts[part] : std::string_view();
    const int flush = part < parts.size() ? Z_NO_FLUSH : Z_FINISH;
    do {
      const std::size_t piece = std::min<std::size_t>(left.size(), 1 << 24);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(left.data()));
      stream.avail_in = static_cast<uInt>(piece);
      do {
        stream.next_out = reinterpret_cast<Bytef*>(room.data());
        stream.avail_out = static_cast<uInt>(room.size());
        outcome = deflate(&stream, flush);
        out.append(room.data(), room.size() - stream.avail_out);
      } while (outcome == Z_OK && stream.avail_out == 0);
      if (outcome == Z_BUF_ERROR) outcome = Z_OK;  // nothing was left to do
      left.remove_prefix(piece);
    } while (!left.empty() && outcome == Z_OK);
  }
  deflateEnd(&stream);
  if (outcome != Z_STREAM_END) return fail(ErrorKind::kSystem, "the page's data could not be compressed");
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < left ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i) out += i <= left ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

}  // namespace fathom::page
