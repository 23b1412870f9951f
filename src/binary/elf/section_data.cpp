#include "binary/elf/section_data.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

#include "base/cursor.h"

namespace fathom::elf {
namespace {

constexpr std::uint32_t kZlib = 1;
constexpr std::uint32_t kZstd = 2;  // newer than the elf.h of Debian 12
constexpr std::string_view kZdebugMagic = "ZLIB";
constexpr std::size_t kZdebugHeader = 12;
constexpr std::size_t kFirstPiece = std::size_t{1} << 16;  // bytes; doubled as long as bytes come out

// Makes room for more output, up to `claimed`. False: there is nothing left to make.
bool grow(std::vector<std::byte>& out, std::uint64_t claimed) {
  if (out.size() >= claimed) return false;
  const auto wanted = std::max<std::uint64_t>(kFirstPiece, std::uint64_t{out.size()} * 2);
  out.resize(static_cast<std::size_t>(std::min(claimed, wanted)));
  return true;
}

tl::unexpected<Error> broken(const char* what) {
  return fathom::fail(ErrorKind::kMalformed, what);
}

Result<std::vector<std::byte>> inflate_zlib(std::span<const std::byte> in, std::uint64_t claimed) {
  z_stream stream{};
  if (::inflateInit(&stream) != Z_OK) return broken("zlib does not start");
  const std::unique_ptr<z_stream, decltype(&::inflateEnd)> end_stream(&stream, &::inflateEnd);

  std::vector<std::byte> out;
  std::size_t produced = 0;
  std::size_t consumed = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    if (produced == out.size() && !grow(out, claimed)) break;
    // zlib counts in 32 bits.
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    const auto in_now = std::min(in.size() - consumed, kMost);
    const auto out_now = std::min(out.size() - produced, kMost);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data() + consumed));
    stream.avail_in = static_cast<uInt>(in_now);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + produced);
    stream.avail_out = static_cast<uInt>(out_now);
    status = ::inflate(&stream, Z_NO_FLUSH);
    consumed += in_now - stream.avail_in;
    produced += out_now - stream.avail_out;
  }
  // Z_BUF_ERROR: the input ended early.
  if (status != Z_OK && status != Z_STREAM_END) return broken("zlib data is broken");
  if (produced != claimed) return broken("zlib data does not have the length that its header claims");
  out.resize(produced);
  return out;
}

Result<std::vector<std::byte>> inflate_zstd(std::span<const std::byte> in, std::uint64_t claimed) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&::ZSTD_freeDCtx)> context(::ZSTD_createDCtx(), &::ZSTD_freeDCtx);
  if (!context) return broken("zstd does not start");
  std::vector<std::byte> out;
  ZSTD_inBuffer input{in.data(), in.size(), 0};
  std::size_t produced = 0;
  while (produced < claimed) {
    if (produced == out.size()) grow(out, claimed);
    ZSTD_outBuffer output{out.data(), out.size(), produced};
    const auto consumed_before = input.pos;
    const std::size_t status = ::ZSTD_decompressStream(context.get(), &output, &input);
    if (::ZSTD_isError(status) != 0) return broken("zstd data is broken");
    if (output.pos == produced && input.pos == consumed_before)
      break;  // neither ate nor gave: the input ended
    produced = output.pos;
  }
  if (produced != claimed) return broken("zstd data does not have the length that its header claims");
  out.resize(produced);
  return out;
}

}  // namespace

Result<std::vector<std::byte>> inflate_section(std::span<const std::byte> stored) {
  Cursor in(stored);
  const auto type = in.read<std::uint32_t>();
  in.skip(4);
  const auto size = in.read<std::uint64_t>();
  in.skip(8);  // alignment
  if (!in.ok()) return broken("compression header is cut short");
  if (type == kZlib) return inflate_zlib(in.rest(), size);
  if (type == kZstd) return inflate_zstd(in.rest(), size);
  return fathom::fail(ErrorKind::kUnsupported, "compression type " + std::to_string(type));
}

Result<std::vector<std::byte>> inflate_zdebug_section(std::span<const std::byte> stored) {
  if (stored.size() < kZdebugHeader) return broken("compression header is cut short");
  return inflate_zlib(stored.subspan(kZdebugHeader), zdebug_claimed_size(stored));
}

std::uint64_t claimed_size(std::span<const std::byte> stored) {
  Cursor in(stored);
  in.skip(8);  // type, reserved
  return in.read<std::uint64_t>();
}

std::uint64_t zdebug_claimed_size(std::span<const std::byte> stored) {
  Cursor in(stored);
  in.skip(kZdebugMagic.size());
  std::uint64_t size = 0;
  for (int i = 0; i < 8; ++i) size = size << 8 | in.read<std::uint8_t>();
  return in.ok() ? size : 0;
}

bool is_zdebug(std::string_view section_name, std::span<const std::byte> stored) {
  return section_name.starts_with(".zdebug_") &&
         Cursor(stored).read_chars(kZdebugMagic.size()) == kZdebugMagic;
}

}  // namespace fathom::elf
