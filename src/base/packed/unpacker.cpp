#include "base/packed/unpacker.h"

#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace fathom::packed {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kGzip = "\x1f\x8b"sv, kZstd = "\x28\xb5\x2f\xfd"sv, kXz = "\xfd\x37zXZ\0"sv;
constexpr std::size_t kUnpackedPiece = 256 * 1024;
constexpr std::uint64_t kMostXzMemory = std::uint64_t{128} << 20;  // xz -9 needs 65 MiB

tl::unexpected<Error> cut(const std::string& name, std::string_view tool) {
  return fail(ErrorKind::kMalformed, fmt::format("{}: packed with {}, and damaged or cut short", name, tool),
              fmt::format("{} -t, which checks it", tool));
}
tl::unexpected<Error> too_large(const std::string& name, std::uint64_t most) {
  return fail(ErrorKind::kUnsupported,
              fmt::format("{}: more than {} MiB are packed in it", name, most >> 20));
}

// What the last four bytes of a gzip file say (RFC 1952, 2.3.1): a hint, as there may be several files in it.
std::uint64_t size_in_trailer(std::string_view content) {
  constexpr std::uint64_t kMostRatio = 1032;  // of deflate
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < 4 && i < content.size(); ++i)
    size = size << 8 | static_cast<std::uint8_t>(content[content.size() - 1 - i]);
  return std::min(size, kMostRatio * content.size());
}

// Each piece of what is packed in `content` -> visit(piece).
template <class Visit>
Result<> unpack_gzip(std::string_view content, const std::string& name, std::uint64_t most, Visit visit) {
  z_stream stream{};
  // 15 bits of window, and 16 for a gzip header.
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return fail(ErrorKind::kSystem, name + ": zlib failed");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, &inflateEnd);
  std::vector<char> piece(kUnpackedPiece);
  for (std::uint64_t size = 0;;) {
    constexpr std::size_t kMost = std::size_t{1} << 30;  // zlib counts in 32 bits
    const std::size_t given = std::min(content.size(), kMost);
    // zlib takes a pointer to what it only reads.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    // Z_BUF_ERROR: nothing is left to read, and nothing inside of zlib.
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) return cut(name, "gzip");
    content.remove_prefix(given - stream.avail_in);
    const std::size_t made = piece.size() - stream.avail_out;
    if (made > most - size) return too_large(name, most);
    size += made;
    visit(std::string_view(piece.data(), made));
    if (status == Z_STREAM_END) {
      // What follows is another file, or padding.
      if (!content.starts_with(kGzip)) return {};
      if (inflateReset(&stream) != Z_OK) return cut(name, "gzip");
    }
  }
}

Result<std::string> from_gzip(std::string_view content, const std::string& name, std::uint64_t most) {
  std::string text;
  text.reserve(std::min(most, size_in_trailer(content)));
  Result<> read = unpack_gzip(content, name, most, [&](std::string_view piece) { text.append(piece); });
  if (!read) return tl::unexpected(read.error());
  return text;
}

// Each piece of what is packed in `content` -> visit(piece).
template <class Visit>
Result<> unpack_zstd(std::string_view content, const std::string& name, std::uint64_t most, Visit visit) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (context == nullptr) return fail(ErrorKind::kSystem, name + ": zstd failed");
  std::vector<char> piece(kUnpackedPiece);
  ZSTD_inBuffer in{content.data(), content.size(), 0};
  for (std::uint64_t size = 0;;) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const std::size_t left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left) != 0) return cut(name, "zstd");
    if (out.pos > most - size) return too_large(name, most);
    size += out.pos;
    visit(std::string_view(piece.data(), out.pos));
    if (in.pos == in.size && left == 0) return {};
    if (in.pos == in.size && out.pos < out.size) return cut(name, "zstd");
  }
}

// Unpacking twice is cheaper than a text that is copied as it grows: a packed stream does not store its size.
Result<std::string> from_zstd(std::string_view content, const std::string& name, std::uint64_t most) {
  std::size_t size = 0;
  Result<> counted = unpack_zstd(content, name, most, [&](std::string_view piece) { size += piece.size(); });
  if (!counted) return tl::unexpected(counted.error());
  std::string text;
  text.reserve(size);
  Result<> read = unpack_zstd(content, name, most, [&](std::string_view piece) { text.append(piece); });
  if (!read) return tl::unexpected(read.error());
  return text;
}

class XzDecoder {
 public:
  XzDecoder() { started_ = lzma_stream_decoder(&stream_, kMostXzMemory, LZMA_CONCATENATED) == LZMA_OK; }
  ~XzDecoder() { lzma_end(&stream_); }
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;
  bool started() const { return started_; }
  lzma_stream& stream() { return stream_; }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool started_ = false;
};

// Each piece of what is packed in `content` -> visit(piece).
template <class Visit>
Result<> unpack_xz(std::string_view content, const std::string& name, std::uint64_t most, Visit visit) {
  XzDecoder decoder;
  if (!decoder.started()) return fail(ErrorKind::kSystem, name + ": liblzma failed");
  lzma_stream& stream = decoder.stream();
  stream.next_in = reinterpret_cast<const std::uint8_t*>(content.data());
  stream.avail_in = content.size();
  std::vector<char> piece(kUnpackedPiece);
  for (std::uint64_t size = 0;;) {
    stream.next_out = reinterpret_cast<std::uint8_t*>(piece.data());
    stream.avail_out = piece.size();
    const lzma_ret status = lzma_code(&stream, LZMA_FINISH);
    if (status == LZMA_MEMLIMIT_ERROR)
      return fail(ErrorKind::kUnsupported,
                  fmt::format("{}: unpacking it needs more than {} MiB of memory", name, kMostXzMemory >> 20),
                  "xz -d, which has no such limit");
    if (status != LZMA_OK && status != LZMA_STREAM_END) return cut(name, "xz");
    const std::size_t made = piece.size() - stream.avail_out;
    if (made > most - size) return too_large(name, most);
    size += made;
    visit(std::string_view(piece.data(), made));
    if (status == LZMA_STREAM_END) return {};
  }
}

std::string first_of_gzip(std::string_view content, std::size_t most) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return "";
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, &inflateEnd);
  std::string text(most, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(std::min(content.size(), kFirstPacked));
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  (void)inflate(&stream, Z_NO_FLUSH);  // whatever it says: what was made until then is what is known
  return text.substr(0, stream.total_out);
}

std::string first_of_zstd(std::string_view content, std::size_t most) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (context == nullptr) return "";
  std::string text(most, '\0');
  ZSTD_inBuffer in{content.data(), std::min(content.size(), kFirstPacked), 0};
  ZSTD_outBuffer out{text.data(), text.size(), 0};
  while (out.pos < out.size) {
    const std::size_t made = out.pos, taken = in.pos;
    if (ZSTD_isError(ZSTD_decompressStream(context.get(), &out, &in)) != 0) break;
    if (out.pos == made && in.pos == taken) break;
  }
  text.resize(out.pos);
  return text;
}

std::string first_of_xz(std::string_view content, std::size_t most) {
  XzDecoder decoder;
  if (!decoder.started()) return "";
  lzma_stream& stream = decoder.stream();
  std::string text(most, '\0');
  stream.next_in = reinterpret_cast<const std::uint8_t*>(content.data());
  stream.avail_in = std::min(content.size(), kFirstPacked);
  stream.next_out = reinterpret_cast<std::uint8_t*>(text.data());
  stream.avail_out = text.size();
  while (stream.avail_out != 0 && lzma_code(&stream, LZMA_RUN) == LZMA_OK) continue;
  return text.substr(0, stream.total_out);
}

}  // namespace

std::string first_unpacked(std::string_view content, std::size_t most) {
  if (content.starts_with(kGzip)) return first_of_gzip(content, most);
  return content.starts_with(kXz) ? first_of_xz(content, most) : first_of_zstd(content, most);
}

bool is_packed(std::string_view content) {
  return content.starts_with(kGzip) || content.starts_with(kZstd) || content.starts_with(kXz);
}

Result<std::string> unpacked(std::string_view content, const std::string& name, std::uint64_t most) {
  if (content.starts_with(kGzip)) return from_gzip(content, name, most);
  if (!content.starts_with(kXz)) return from_zstd(content, name, most);
  std::string text;
  Result<> read = unpack_xz(content, name, most, [&](std::string_view piece) { text.append(piece); });
  if (!read) return tl::unexpected(read.error());
  return text;
}

Result<> unpack(std::string_view content, const std::string& name, std::uint64_t most,
                const std::function<void(std::string_view piece)>& visit) {
  if (content.starts_with(kGzip)) return unpack_gzip(content, name, most, visit);
  return content.starts_with(kXz) ? unpack_xz(content, name, most, visit)
                                  : unpack_zstd(content, name, most, visit);
}

}  // namespace fathom::packed
