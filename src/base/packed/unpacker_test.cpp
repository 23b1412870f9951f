#include "base/packed/unpacker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lzma.h>

#include "base/packed/packer.h"

namespace fathom::packed {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kPlenty = 100 << 20;

enum class Packed { kGzip, kZstd, kXz };

std::string packed_xz(std::string_view text) {
  std::string all(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, nullptr,
                                    reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                    reinterpret_cast<std::uint8_t*>(all.data()), &size, all.size()),
            LZMA_OK);
  all.resize(size);
  return all;
}

std::string packed(std::string_view text, Packed packing) {
  if (packing == Packed::kXz) return packed_xz(text);
  Packer packer(packing == Packed::kGzip ? Packing::kGzip : Packing::kZstd);
  packer.add(text);
  return packer.finish().value();
}

std::string text_of_squares() {
  std::string text;
  for (std::uint64_t i = 0; i < 100'000; ++i) text += std::to_string(i * i) + "\n";
  return text;
}

class Unpacker : public testing::TestWithParam<Packed> {};
INSTANTIATE_TEST_SUITE_P(All, Unpacker, testing::Values(Packed::kGzip, Packed::kZstd, Packed::kXz),
                         [](const auto& packing) {
                           return packing.param == Packed::kGzip   ? "gzip"
                                  : packing.param == Packed::kZstd ? "zstd"
                                                                   : "xz";
                         });

TEST_P(Unpacker, WhatWasPackedIsThereAgain) {
  for (const std::string& text : {std::string(), std::string("a"), text_of_squares()}) {
    const std::string all = packed(text, GetParam());
    ASSERT_TRUE(is_packed(all));
    EXPECT_EQ(unpacked(all, "x", kPlenty).value(), text);
  }
}

TEST_P(Unpacker, FilesPutTogetherAreOne) {
  EXPECT_EQ(unpacked(packed("one ", GetParam()) + packed("two", GetParam()), "x", kPlenty).value(),
            "one two");
}

TEST_P(Unpacker, ACutFileIsSaidToBeCut) {
  const std::string all = packed(text_of_squares(), GetParam());
  for (std::size_t size = 4; size < all.size(); size += 1 + all.size() / 50) {
    const Result<std::string> text = unpacked(all.substr(0, size), "x.gz", kPlenty);
    ASSERT_FALSE(text) << size;
    EXPECT_THAT(text.error().message, HasSubstr("x.gz: packed with"));
  }
}

TEST_P(Unpacker, ItStopsAtTheLimitAndDoesNotWaitForTheRest) {
  const std::string all = packed(std::string(20 << 20, 'a'), GetParam());
  EXPECT_THAT(unpacked(all, "x", 5 << 20).error().message, HasSubstr("more than 5 MiB are packed in it"));
  EXPECT_TRUE(unpacked(all, "x", 20 << 20));
}

TEST_P(Unpacker, HowItBeginsIsKnownFromTheFirstBytes) {
  const std::string text = text_of_squares(), all = packed(text, GetParam());
  EXPECT_EQ(first_unpacked(all), text.substr(0, 64));
  EXPECT_EQ(first_unpacked(all.substr(0, kFirstPacked)), text.substr(0, 64));
  EXPECT_EQ(first_unpacked(packed("main;f 1", GetParam())), "main;f 1");
}

TEST_P(Unpacker, OfWhatIsDamagedTheBeginningIsShorter) {
  const std::string all = packed(text_of_squares(), GetParam());
  for (std::size_t size = 4; size < 40; ++size)
    EXPECT_TRUE(text_of_squares().starts_with(first_unpacked(all.substr(0, size)))) << size;
  EXPECT_EQ(first_unpacked(all.substr(0, 4) + std::string(100, 'x')), "");
}

TEST(IsPacked, OtherFilesAreNot) {
  EXPECT_FALSE(is_packed(""));
  EXPECT_FALSE(is_packed("\x1f"));
  EXPECT_FALSE(is_packed("main;f 1\n"));
}

}  // namespace
}  // namespace fathom::packed
