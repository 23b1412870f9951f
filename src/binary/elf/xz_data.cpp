#include "binary/elf/xz_data.h"

#include <fmt/format.h>
#include <lzma.h>

#include <algorithm>

namespace fathom::elf {
namespace {

constexpr std::uint64_t kDecoderMemory = std::uint64_t{128} << 20;
constexpr std::size_t kFirstPiece = std::size_t{1} << 16;  // bytes; doubled as long as bytes come out

class Decoder {
 public:
  Decoder() { started_ = lzma_stream_decoder(&stream_, kDecoderMemory, LZMA_CONCATENATED) == LZMA_OK; }
  ~Decoder() { lzma_end(&stream_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  bool started() const { return started_; }
  lzma_stream& stream() { return stream_; }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool started_ = false;
};

}  // namespace

Result<std::vector<std::byte>> unpack_xz(std::span<const std::byte> packed, std::size_t limit) {
  Decoder decoder;
  if (!decoder.started()) return fathom::fail(ErrorKind::kSystem, "liblzma does not start");
  lzma_stream& stream = decoder.stream();
  stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  std::vector<std::byte> out;
  std::size_t produced = 0;
  for (;;) {
    if (produced == out.size() && out.size() < limit)
      out.resize(std::min(limit, std::max(kFirstPiece, out.size() * 2)));
    // One byte more than may be: an end that comes exactly at the limit is seen, and so is a byte beyond it.
    std::uint8_t beyond = 0;
    const bool full = produced == out.size();
    stream.next_out = full ? &beyond : reinterpret_cast<std::uint8_t*>(out.data() + produced);
    stream.avail_out = full ? 1 : out.size() - produced;
    const std::size_t room = stream.avail_out;
    const lzma_ret status = lzma_code(&stream, LZMA_FINISH);
    const std::size_t came = room - stream.avail_out;
    if (full && came > 0)
      return fathom::fail(ErrorKind::kUnsupported,
                          fmt::format("xz data unpacks to more than {} bytes", limit));
    produced += came;
    if (status == LZMA_STREAM_END) break;
    if (status == LZMA_MEMLIMIT_ERROR)
      return fathom::fail(ErrorKind::kUnsupported, "xz data needs more than 128 MiB to unpack");
    if (status != LZMA_OK) return fathom::fail(ErrorKind::kMalformed, "xz data is broken or cut short");
  }
  out.resize(produced);
  return out;
}

}  // namespace fathom::elf
