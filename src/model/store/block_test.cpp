#include "model/store/block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>

namespace fathom::store {
namespace {

using testing::HasSubstr;

// `size` zeros, which compress as well as anything.
Bytes compressed_zeros(std::size_t size) {
  const Bytes plain(size);
  Bytes stored(ZSTD_compressBound(size));
  stored.resize(ZSTD_compress(stored.data(), stored.size(), plain.data(), plain.size(), 3));
  return stored;
}

BlockHeader header_of(const Bytes& stored, std::size_t payload_size) {
  BlockHeader header;
  header.type = kSamples;
  header.flags = kFlagZstd | kFlagRequired;
  header.stored_size = static_cast<std::uint32_t>(stored.size());
  header.payload_size = static_cast<std::uint32_t>(payload_size);
  header.payload_checksum = checksum(stored);
  return header;
}

TEST(Block, CompressedPayloadsAreRestored) {
  Bytes payload(100'000);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i * i >> 5);
  Bytes file;
  BlockEncoder().append(file, kSamples, 3, 7, payload);
  const auto header = decode_block_header(std::span(file).first(kBlockHeaderSize));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->type, kSamples);
  EXPECT_EQ(header->sequence, 3u);
  EXPECT_EQ(header->rows, 7u);
  EXPECT_LT(header->stored_size, payload.size());
  BlockDecoder decoder;
  const auto read = decoder.payload(*header, std::span(file).subspan(kBlockHeaderSize));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(std::equal(read->begin(), read->end(), payload.begin(), payload.end()));
}

// A few bytes that claim to expand to many would cost work and memory out of proportion to the file.
TEST(Block, APayloadThatClaimsToExpandTooMuchIsRejected) {
  const std::size_t size = kMaxPayload;
  const Bytes stored = compressed_zeros(size);
  ASSERT_GT(size / stored.size(), kMaxRatio) << "the text of this test is not small enough";
  BlockDecoder decoder;
  const auto read = decoder.payload(header_of(stored, size), stored);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kMalformed);
  EXPECT_THAT(read.error().message, HasSubstr("are said to hold"));
}

TEST(Block, TheWriterStaysBelowThatRatio) {
  const Bytes payload(kMaxPayload);
  Bytes file;
  BlockEncoder().append(file, kSamples, 0, 1, payload);
  const auto header = decode_block_header(std::span(file).first(kBlockHeaderSize));
  ASSERT_TRUE(header);
  EXPECT_LE(header->payload_size / header->stored_size, kMaxRatio);
  BlockDecoder decoder;
  const auto read = decoder.payload(*header, std::span(file).subspan(kBlockHeaderSize));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->size(), payload.size());
}

TEST(Block, TwoSizesThatContradictEachOtherAreRejected) {
  const Bytes stored = compressed_zeros(10'000);
  BlockDecoder decoder;
  EXPECT_TRUE(decoder.payload(header_of(stored, 10'000), stored));
  EXPECT_FALSE(decoder.payload(header_of(stored, 9'999), stored));
  EXPECT_FALSE(decoder.payload(header_of(stored, 10'001), stored));
  BlockHeader plain = header_of(stored, stored.size() + 1);
  plain.flags = 0;
  EXPECT_FALSE(decoder.payload(plain, stored));
}

TEST(Block, APayloadWithAWrongChecksumIsRejected) {
  Bytes stored = compressed_zeros(10'000);
  const BlockHeader header = header_of(stored, 10'000);
  stored.back() ^= std::byte{1};
  BlockDecoder decoder;
  const auto read = decoder.payload(header, stored);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("checksum"));
}

}  // namespace
}  // namespace fathom::store
