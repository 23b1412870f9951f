#include "base/packed/packer.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

namespace fathom::packed {
namespace {

// More than a piece, and not of one pattern only.
std::string long_text() {
  std::string text;
  for (unsigned i = 0; text.size() < 3'000'000; ++i) text += std::to_string(i * 2654435761u) + "\n";
  return text;
}

std::string packed(Packing packing, std::string_view text) {
  Packer packer(packing);
  for (std::size_t at = 0; at < text.size(); at += 100'000) packer.add(text.substr(at, 100'000));
  return packer.finish().value();
}

std::string unpacked_gzip(const std::string& bytes, std::size_t size) {
  std::string text(size, 0);
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  inflateEnd(&stream);
  return text.substr(0, text.size() - stream.avail_out);
}

TEST(Packer, GivesBackWhatItWasGiven) {
  for (const std::string& text : {std::string(), std::string("one line\n"), long_text()}) {
    EXPECT_TRUE(packed(Packing::kNone, text) == text);
    EXPECT_TRUE(unpacked_gzip(packed(Packing::kGzip, text), text.size() + 1) == text);
    const std::string zstd = packed(Packing::kZstd, text);
    std::string out(text.size() + 1, 0);
    const std::size_t size = ZSTD_decompress(out.data(), out.size(), zstd.data(), zstd.size());
    ASSERT_FALSE(ZSTD_isError(size));
    out.resize(size);
    EXPECT_TRUE(out == text);
  }
}

TEST(Packer, IsChosenByTheEndingOfTheName) {
  EXPECT_EQ(packing_of("a.gz"), Packing::kGzip);
  EXPECT_EQ(packing_of("a/heaptrack.x.zst"), Packing::kZstd);
  EXPECT_EQ(packing_of("a.gz/x"), Packing::kNone);
  EXPECT_EQ(packing_of(""), Packing::kNone);
}

}  // namespace
}  // namespace fathom::packed
