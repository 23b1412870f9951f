#include "page/columns.h"

#include <zlib.h>

#include <cstring>

#include "base/varint.h"

namespace fathom::page {
namespace {

void put(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
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

void Columns::add_differences(const std::string& name, std::span<const std::int64_t> values) {
  const std::uint64_t offset = bytes_.size();
  std::uint64_t last = 0;  // wraps around where two values are further apart than a number can say
  for (const std::int64_t value : values) {
    put(bytes_, zigzag(static_cast<std::int64_t>(static_cast<std::uint64_t>(value) - last)));
    last = static_cast<std::uint64_t>(value);
  }
  close(name, ColumnKind::kDifferences, offset, values.size());
}

void Columns::add_reals(const std::string& name, std::span<const double> values) {
  const std::uint64_t offset = bytes_.size();
  for (const double value : values) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    bytes_.append(bytes, sizeof value);
  }
  close(name, ColumnKind::kReal, offset, values.size());
}

Result<std::string> compress(const std::string& bytes) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  if (deflateInit2(&stream, 9, Z_DEFLATED, kGzip, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    return fail(ErrorKind::kSystem, "zlib could not be started");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int outcome =
      bytes.size() > UINT32_MAX || out.size() > UINT32_MAX ? Z_BUF_ERROR : deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
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
