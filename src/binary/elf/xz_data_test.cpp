#include "binary/elf/xz_data.h"

#include <gtest/gtest.h>
#include <lzma.h>

namespace fathom::elf {
namespace {

using Bytes = std::vector<std::byte>;

Bytes xz_of(const Bytes& data) {
  Bytes out(lzma_stream_buffer_bound(data.size()));
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr,
                                    reinterpret_cast<const std::uint8_t*>(data.data()), data.size(),
                                    reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

Bytes numbers(std::size_t size) {
  Bytes out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i * i >> 5);
  return out;
}

TEST(XzData, ComesOutAsItWentInUpToTheLimitItself) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{200'000}}) {
    const auto unpacked = unpack_xz(xz_of(numbers(size)), size);
    ASSERT_TRUE(unpacked) << size << " " << unpacked.error().message;
    EXPECT_EQ(*unpacked, numbers(size)) << size;
  }
}

TEST(XzData, ABombIsRefused) {
  const Bytes zeros(std::size_t{64} << 20);
  const auto packed = xz_of(zeros);
  ASSERT_LT(packed.size(), 20'000u);
  const auto unpacked = unpack_xz(packed, std::size_t{1} << 20);
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(unpacked.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(unpacked.error().message, "xz data unpacks to more than 1048576 bytes");
  EXPECT_FALSE(unpack_xz(xz_of(numbers(65537)), 65536)) << "one byte too much";
}

TEST(XzData, CutAndChangedDataIsRefused) {
  const auto whole = xz_of(numbers(5000));
  for (std::size_t size = 0; size < whole.size(); size += 3)
    EXPECT_FALSE(unpack_xz(std::span(whole).first(size), 1 << 20)) << size;
  for (std::size_t at = 0; at < whole.size(); at += 5) {
    auto changed = whole;
    changed[at] ^= std::byte{0x20};
    const auto unpacked = unpack_xz(changed, 1 << 20);
    EXPECT_TRUE(!unpacked || *unpacked == numbers(5000)) << at;
  }
}

}  // namespace
}  // namespace fathom::elf
