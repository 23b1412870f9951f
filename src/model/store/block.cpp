#include "model/store/block.h"

#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <new>

#include "base/cursor.h"

namespace fathom::store {
namespace {

// Level 3 is zstd's default: level 1 made blocks of one second 4 % larger, level 9 1 % smaller at four times
// the cost.
constexpr int kLevel = 3;

template <class T>
void put(Bytes& out, T value) {
  const auto at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string block_name(std::uint32_t type) {
  std::string name;
  for (int i = 0; i < 4; ++i, type >>= 8) {
    const auto letter = static_cast<char>(type & 0xff);
    name += letter >= '!' && letter <= '~' ? letter : '?';
  }
  return name;
}

Bytes encode_file_header() {
  Bytes out;
  for (std::uint8_t byte : kMagic) out.push_back(static_cast<std::byte>(byte));
  put(out, kMajor);
  put(out, kMinor);
  put(out, std::uint32_t{0});
  put(out, checksum(out));
  return out;
}

Result<> check_file_header(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() < kMagic.size() || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return fail(ErrorKind::kMalformed, name + ": not a fathom recording");
  if (bytes.size() < kFileHeaderSize)
    return fail(ErrorKind::kMalformed, name + ": the recording ends inside its first 24 bytes");
  Cursor in(bytes.subspan(kMagic.size(), kFileHeaderSize - kMagic.size()));
  const auto major = in.read<std::uint16_t>();
  const auto minor = in.read<std::uint16_t>();
  in.skip(4);
  if (in.read<std::uint64_t>() != checksum(bytes.first(kFileHeaderSize - 8)))
    return fail(ErrorKind::kMalformed, name + ": the first 24 bytes of the recording are damaged");
  if (major != kMajor)
    return fail(
        ErrorKind::kUnsupported,
        fmt::format("{}: recording format {}.{}, and this fathom reads {}.x", name, major, minor, kMajor),
        "open it with the version of fathom that recorded it, or a newer one");
  return {};
}

std::optional<BlockHeader> decode_block_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kBlockHeaderSize) return std::nullopt;
  Cursor in(bytes.first(kBlockHeaderSize));
  if (in.read<std::uint32_t>() != kBlockMark) return std::nullopt;
  BlockHeader header;
  header.type = in.read<std::uint32_t>();
  header.flags = in.read<std::uint32_t>();
  header.stored_size = in.read<std::uint32_t>();
  header.payload_size = in.read<std::uint32_t>();
  header.sequence = in.read<std::uint32_t>();
  header.rows = in.read<std::uint32_t>();
  header.payload_checksum = in.read<std::uint64_t>();
  const auto expected = static_cast<std::uint32_t>(checksum(bytes.first(kBlockHeaderSize - 4)));
  if (in.read<std::uint32_t>() != expected) return std::nullopt;
  return header;
}

namespace {

// Bits 16 to 31 of the flags.
constexpr std::uint32_t kHintExact = 1u << 16, kHintNoneLive = 1u << 17;
constexpr unsigned kHintSizeShift = 18;  // 7 bits: the bits of the largest size

}  // namespace

std::uint32_t flags_of(const LivesHints& hints) {
  if (!hints.exact) return 0;
  return kHintExact | (hints.none_live ? kHintNoneLive : 0) |
         static_cast<std::uint32_t>(std::bit_width(hints.most_size)) << kHintSizeShift;
}

LivesHints hints_of(const BlockHeader& header) {
  LivesHints hints;
  hints.exact = (header.flags & kHintExact) != 0;
  hints.none_live = hints.exact && (header.flags & kHintNoneLive) != 0;
  if (const std::uint32_t bits = header.flags >> kHintSizeShift & 0x7f; hints.exact && bits < 64)
    hints.most_size = (std::uint64_t{1} << bits) - 1;
  return hints;
}

BlockEncoder::BlockEncoder() : context_(ZSTD_createCCtx()) {
  if (!context_) throw std::bad_alloc();
}
void BlockEncoder::Free::operator()(void* context) const noexcept {
  ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(context));
}

void BlockEncoder::append(Bytes& out, std::uint32_t type, std::uint32_t sequence, std::uint32_t rows,
                          const Bytes& payload, std::uint32_t hints) {
  assert(payload.size() <= kMaxPayload);
  compressed_.resize(ZSTD_compressBound(payload.size()));
  const std::size_t size = ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(context_.get()), compressed_.data(),
                                             compressed_.size(), payload.data(), payload.size(), kLevel);
  // The end mark stays uncompressed, so that it has a fixed size and can be found from the end of the file.
  const bool helps =
      type != kEnd && ZSTD_isError(size) == 0 && size < payload.size() && payload.size() / size < kMaxRatio;
  const std::span<const std::byte> stored =
      helps ? std::span<const std::byte>(compressed_).first(size) : std::span<const std::byte>(payload);

  Bytes header;
  header.reserve(kBlockHeaderSize);
  put(header, kBlockMark);
  put(header, type);
  // Of this version's types, readers can do without the index, and old readers can skip the waits: samples
  // mean the same without them.
  const bool required = type != kIndex && type != kWaits && type != kHeap && type != kLives;
  put(header, (helps ? kFlagZstd : 0) | (required ? kFlagRequired : 0) | hints);
  put(header, static_cast<std::uint32_t>(stored.size()));
  put(header, static_cast<std::uint32_t>(payload.size()));
  put(header, sequence);
  put(header, rows);
  put(header, checksum(stored));
  put(header, static_cast<std::uint32_t>(checksum(header)));
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), stored.begin(), stored.end());
}

BlockDecoder::BlockDecoder() : context_(ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
}
void BlockDecoder::Free::operator()(void* context) const noexcept {
  ZSTD_freeDCtx(static_cast<ZSTD_DCtx*>(context));
}

Result<std::span<const std::byte>> BlockDecoder::payload(const BlockHeader& header,
                                                         std::span<const std::byte> stored) {
  if (checksum(stored) != header.payload_checksum) return fail(ErrorKind::kMalformed, "its checksum differs");
  if ((header.flags & kFlagZstd) == 0) {
    if (header.payload_size != stored.size()) return fail(ErrorKind::kMalformed, "two sizes for one payload");
    return stored;
  }
  if (header.payload_size > kMaxPayload || header.payload_size / kMaxRatio > stored.size())
    return fail(ErrorKind::kMalformed,
                fmt::format("{} bytes are said to hold {}", stored.size(), header.payload_size));
  plain_.resize(header.payload_size);
  const std::size_t size = ZSTD_decompressDCtx(static_cast<ZSTD_DCtx*>(context_.get()), plain_.data(),
                                               plain_.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) != 0)
    return fail(ErrorKind::kMalformed, fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  if (size != plain_.size()) return fail(ErrorKind::kMalformed, "decompresses to another size");
  return std::span<const std::byte>(plain_);
}

}  // namespace fathom::store
