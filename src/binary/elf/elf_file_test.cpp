#include "binary/elf/elf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binary/elf/module_file.h"
#include "binary/elf/testing_elf.h"

namespace fathom::elf {
namespace {

using testing::Bytes;
using testing::ElfBuilder;
using testing::put;
using testing::put_text;

ElfFile parsed(const Bytes& bytes) {
  auto file = ElfFile::parse(bytes, "hand-made");
  EXPECT_TRUE(file) << (file ? "" : file.error().message);
  return std::move(file.value());
}

// A loaded segment at 0x1000 that also shows as section .text.
Bytes small_file() {
  ElfBuilder builder;
  const auto code = builder.blob(Bytes(64, std::byte{0xcc}));
  builder.segment(PT_LOAD, PF_R | PF_X, 0x1000, code);
  builder.section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, code);
  return builder.build();
}

TEST(ElfFile, ListsSegmentsAndSections) {
  const auto bytes = small_file();
  const auto file = parsed(bytes);
  ASSERT_EQ(file.segments().size(), 1u);
  EXPECT_EQ(file.segments()[0].address, ElfAddress{0x1000});
  EXPECT_EQ(file.segments()[0].file_size, 64u);
  ASSERT_NE(file.section(".text"), nullptr);
  EXPECT_EQ(file.section(".text")->address, ElfAddress{0x1000});
  EXPECT_EQ(file.section(".nothing"), nullptr);
  EXPECT_EQ(file.contents(*file.section(".text")).value().bytes().size(), 64u);
}

TEST(ElfFile, OffsetsAndAddressesAreTranslatedThroughLoadedSegments) {
  const auto bytes = small_file();
  const auto file = parsed(bytes);
  const auto start = file.segments()[0].offset;
  EXPECT_EQ(file.address_of({start.value + 5}), ElfAddress{0x1005});
  EXPECT_EQ(file.offset_of({0x1005}), FileOffset{start.value + 5});
  EXPECT_EQ(file.address_of({start.value + 64}), std::nullopt);
  EXPECT_EQ(file.address_of({start.value - 1}), std::nullopt);
  EXPECT_EQ(file.bytes_from({0x103f}).size(), 1u);
  EXPECT_EQ(file.bytes_at({0x1000}, 64)->size(), 64u);
  EXPECT_EQ(file.bytes_at({0x1000}, 65), std::nullopt);
  EXPECT_EQ(file.bytes_at({0xfff}, 1), std::nullopt);
  EXPECT_EQ(file.bytes_at({0x1000}, ~std::uint64_t{0}), std::nullopt);
}

TEST(ElfFile, OnlySixtyFourBitLittleEndianIsSupported) {
  auto bytes = small_file();
  bytes[EI_CLASS] = std::byte{ELFCLASS32};
  EXPECT_EQ(ElfFile::parse(bytes, "x").error().kind, ErrorKind::kUnsupported);
  bytes = small_file();
  bytes[EI_DATA] = std::byte{ELFDATA2MSB};
  EXPECT_EQ(ElfFile::parse(bytes, "x").error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(ElfFile::parse({}, "x").error().kind, ErrorKind::kUnsupported);
}

TEST(ElfFile, EveryPrefixIsReadOrRefused) {
  const auto bytes = small_file();
  std::size_t read = 0;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const auto file = ElfFile::parse(std::span(bytes).first(size), "prefix");
    if (file) {
      ++read;
    } else {
      EXPECT_THAT(file.error().message, ::testing::StartsWith("prefix: "));
    }
  }
  EXPECT_GT(read, 0u);
}

TEST(ElfFile, BrokenSectionHeadersLeaveTheSegments) {
  auto bytes = small_file();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_shoff = ~std::uint64_t{0} - 3;
  std::memcpy(bytes.data(), &header, sizeof header);
  const auto file = parsed(bytes);
  EXPECT_TRUE(file.sections().empty());
  EXPECT_EQ(file.segments().size(), 1u);
}

TEST(ElfFile, ProgramHeadersBeyondTheFileAreAnError) {
  auto bytes = small_file();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_phnum = 0x7000;
  std::memcpy(bytes.data(), &header, sizeof header);
  EXPECT_EQ(ElfFile::parse(bytes, "x").error().kind, ErrorKind::kMalformed);
}

TEST(ElfFile, SectionThatReachesBeyondTheFileHasNoContents) {
  const auto bytes = small_file();
  const auto file = parsed(bytes);
  Section section = *file.section(".text");
  section.size = ~std::uint64_t{0};
  EXPECT_EQ(file.contents(section).error().kind, ErrorKind::kMalformed);
}

TEST(ElfFile, DebugLinkIsANameAndAChecksumAfterPadding) {
  ElfBuilder builder;
  Bytes link;
  put_text(link, "app.debug");
  link.resize(12);  // NUL and padding to 4
  put(link, std::uint32_t{0x12345678});
  builder.section(".gnu_debuglink", SHT_PROGBITS, 0, 0, builder.blob(link));
  const auto bytes = builder.build();
  const auto debug_link = parsed(bytes).debug_link();
  ASSERT_TRUE(debug_link);
  EXPECT_EQ(debug_link->file, "app.debug");
  EXPECT_EQ(debug_link->crc, 0x12345678u);
}

TEST(ElfFile, NeededLibrariesComeFromTheDynamicSegment) {
  ElfBuilder builder;
  Bytes names(1);
  put_text(names, "libone.so");
  names.push_back({});
  put_text(names, "libtwo.so.2");
  names.push_back({});
  Bytes dynamic;
  for (const Elf64_Dyn& entry :
       {Elf64_Dyn{DT_NEEDED, {1}}, Elf64_Dyn{DT_NEEDED, {11}}, Elf64_Dyn{DT_NEEDED, {9999}},
        Elf64_Dyn{DT_STRTAB, {0x2000}}, Elf64_Dyn{DT_STRSZ, {names.size()}}, Elf64_Dyn{DT_NULL, {0}},
        Elf64_Dyn{DT_NEEDED, {1}}})
    put(dynamic, entry);
  builder.segment(PT_LOAD, PF_R, 0x2000, builder.blob(names));
  builder.segment(PT_DYNAMIC, PF_R, 0x3000, builder.blob(dynamic));
  const auto bytes = builder.build();
  EXPECT_THAT(parsed(bytes).needed(), ::testing::ElementsAre("libone.so", "libtwo.so.2"));
}

TEST(ModuleFile, OpensThisTestProgram) {
  auto file = ModuleFile::open("/proc/self/exe");
  ASSERT_TRUE(file) << file.error().message;
  const auto moved = std::move(*file);
  EXPECT_EQ(moved.elf().machine(), EM_X86_64);
  EXPECT_EQ(moved.elf().interpreter(), "/lib64/ld-linux-x86-64.so.2");
  EXPECT_THAT(moved.elf().needed(), ::testing::Contains("libc.so.6"));
  EXPECT_NE(moved.elf().segment(PT_GNU_EH_FRAME), nullptr);
  EXPECT_NE(moved.elf().section(".eh_frame"), nullptr);
}

TEST(ModuleFile, FileThatIsMissingOrNoElfIsNamed) {
  EXPECT_EQ(ModuleFile::open("/no/such/file").error().kind, ErrorKind::kNotFound);
  const auto refused = ModuleFile::open("/etc/passwd");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("/etc/passwd"));
}

}  // namespace
}  // namespace fathom::elf
