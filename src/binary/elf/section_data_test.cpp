#include "binary/elf/section_data.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "binary/elf/elf_file.h"
#include "binary/elf/testing_elf.h"

namespace fathom::elf {
namespace {

using testing::append;
using testing::Bytes;
using testing::put;

Bytes plain(std::size_t size) {
  Bytes out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i * i >> 7);
  return out;
}

Bytes compressed(std::uint32_t type, std::uint64_t claimed, const Bytes& data) {
  Bytes out;
  put(out, type);
  put(out, std::uint32_t{0});
  put(out, claimed);
  put(out, std::uint64_t{1});
  append(out, data.data(), data.size());
  return out;
}

Bytes zdebug(std::uint64_t claimed, const Bytes& data) {
  Bytes out;
  testing::put_text(out, "ZLIB");
  for (int shift = 56; shift >= 0; shift -= 8) put(out, static_cast<std::uint8_t>(claimed >> shift));
  append(out, data.data(), data.size());
  return out;
}

Bytes zlib_of(const Bytes& data) {
  uLongf size = compressBound(data.size());
  Bytes out(size);
  EXPECT_EQ(compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
                     data.size()),
            Z_OK);
  out.resize(size);
  return out;
}

Bytes zstd_of(const Bytes& data) {
  Bytes out(ZSTD_compressBound(data.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), data.data(), data.size(), 3));
  return out;
}

TEST(SectionData, ZlibAndZstdComeOutAsTheyWentIn) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{1} << 20}) {
    const auto data = plain(size);
    EXPECT_EQ(inflate_section(compressed(1, size, zlib_of(data))).value(), data) << size;
    EXPECT_EQ(inflate_section(compressed(2, size, zstd_of(data))).value(), data) << size;
  }
}

TEST(SectionData, SizeThatTheDataDoesNotKeepIsRefusedWithoutAllocatingIt) {
  const auto data = plain(1000);
  for (const std::uint64_t claimed : {std::uint64_t{1001}, ~std::uint64_t{0}}) {
    EXPECT_FALSE(inflate_section(compressed(1, claimed, zlib_of(data)))) << claimed;
    EXPECT_FALSE(inflate_section(compressed(2, claimed, zstd_of(data)))) << claimed;
  }
}

TEST(SectionData, CutDataIsRefused) {
  const auto data = plain(5000);
  for (const std::uint32_t type : {1u, 2u}) {
    const auto whole = compressed(type, data.size(), type == 1 ? zlib_of(data) : zstd_of(data));
    for (std::size_t size = 0; size + 8 < whole.size(); size += 7)
      EXPECT_FALSE(inflate_section(std::span(whole).first(size))) << type << " " << size;
  }
}

TEST(SectionData, UnknownCompressionIsUnsupported) {
  EXPECT_EQ(inflate_section(compressed(77, 5, plain(5))).error().kind, ErrorKind::kUnsupported);
}

TEST(SectionData, SectionContentsAreInflatedAndSurviveAMove) {
  const auto data = plain(3000);
  testing::ElfBuilder builder;
  builder.section(".debug_frame", SHT_PROGBITS, SHF_COMPRESSED, 0,
                  builder.blob(compressed(1, data.size(), zlib_of(data))));
  const auto bytes = builder.build();
  const auto file = ElfFile::parse(bytes, "hand-made").value();
  auto contents = file.contents(*file.section(".debug_frame")).value();
  EXPECT_TRUE(contents.owned());
  const SectionData moved = std::move(contents);
  EXPECT_EQ(Bytes(moved.bytes().begin(), moved.bytes().end()), data);
}

TEST(SectionData, TheOldFormOfCompressedDebugSectionsIsFoundByTheNewName) {
  const auto data = plain(3000);
  testing::ElfBuilder builder;
  builder.section(".zdebug_info", SHT_PROGBITS, 0, 0, builder.blob(zdebug(data.size(), zlib_of(data))));
  const auto bytes = builder.build();
  const auto file = ElfFile::parse(bytes, "hand-made").value();
  EXPECT_EQ(file.section(".debug_info"), nullptr);
  const Section* section = file.debug_section(".debug_info");
  ASSERT_NE(section, nullptr);
  EXPECT_TRUE(file.is_compressed(*section));
  EXPECT_EQ(file.claimed_size(*section), data.size());
  const auto contents = file.contents(*section).value();
  EXPECT_EQ(Bytes(contents.bytes().begin(), contents.bytes().end()), data);
}

TEST(SectionData, TheOldFormIsRefusedWhereItsSizeOrItsDataIsWrong) {
  const auto data = plain(1000);
  EXPECT_FALSE(inflate_zdebug_section(zdebug(~std::uint64_t{0}, zlib_of(data))));
  const auto whole = zdebug(data.size(), zlib_of(data));
  for (std::size_t size = 0; size + 8 < whole.size(); size += 7)
    EXPECT_FALSE(inflate_zdebug_section(std::span(whole).first(size))) << size;
}

}  // namespace
}  // namespace fathom::elf
