#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "binary/elf/elf_file.h"
#include "binary/elf/module_file.h"
#include "binary/elf/testing_elf.h"

namespace fathom::elf {
namespace {

using testing::append;
using testing::Bytes;
using testing::ElfBuilder;
using testing::note;

const Bytes kId{std::byte{0xab}, std::byte{0x01}, std::byte{0xff}};

std::string build_id_of(const ElfBuilder& builder) {
  const auto bytes = builder.build();
  return ElfFile::parse(bytes, "hand-made").value().build_id();
}
std::string identity_of(const ElfBuilder& builder) {
  const auto bytes = builder.build();
  return ElfFile::parse(bytes, "hand-made").value().identity();
}

TEST(BuildId, IsFoundThroughTheNoteSegmentWithoutSectionHeaders) {
  ElfBuilder builder;
  auto notes = note(std::string_view("GNU", 4), NT_GNU_ABI_TAG, Bytes(16));
  const auto id = note(std::string_view("GNU", 4), NT_GNU_BUILD_ID, kId);
  append(notes, id.data(), id.size());
  builder.segment(PT_NOTE, PF_R, 0, builder.blob(notes));
  builder.without_section_headers();
  EXPECT_EQ(build_id_of(builder), "ab01ff");
  EXPECT_EQ(identity_of(builder), "ab01ff");
}

TEST(BuildId, OfADebugFileIsInItsNoteSection) {
  ElfBuilder builder;
  builder.segment(PT_NOTE, PF_R, 0, builder.blob(Bytes(24, std::byte{0x41})));
  builder.section(".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0,
                  builder.blob(note(std::string_view("GNU", 4), NT_GNU_BUILD_ID, kId)));
  EXPECT_EQ(build_id_of(builder), "ab01ff");
}

TEST(BuildId, OtherNotesAndCutNotesAreNone) {
  ElfBuilder other;
  other.segment(PT_NOTE, PF_R, 0, other.blob(note(std::string_view("Go\0\0", 4), 4, kId)));
  EXPECT_EQ(build_id_of(other), "");
  auto cut = note(std::string_view("GNU", 4), NT_GNU_BUILD_ID, Bytes(20));
  cut.resize(cut.size() - 1);
  ElfBuilder cut_file;
  cut_file.segment(PT_NOTE, PF_R, 0, cut_file.blob(cut));
  EXPECT_EQ(build_id_of(cut_file), "");
}

TEST(Identity, WithoutABuildIdIsAHashThatFollowsSegmentsAndFunctionTable) {
  const auto file_with = [](std::uint64_t address, std::byte content) {
    ElfBuilder builder;
    builder.segment(PT_GNU_EH_FRAME, PF_R, address, builder.blob(Bytes(32, content)));
    return builder;
  };
  const auto first = identity_of(file_with(0x1000, std::byte{1}));
  EXPECT_THAT(first, ::testing::MatchesRegex("x-[0-9a-f]+"));
  EXPECT_EQ(first.size(), 34u);
  EXPECT_EQ(first, identity_of(file_with(0x1000, std::byte{1})));
  EXPECT_NE(first, identity_of(file_with(0x2000, std::byte{1})));
  EXPECT_NE(first, identity_of(file_with(0x1000, std::byte{2})));
}

TEST(BuildId, OfLibcIsFortyHexDigits) {
  constexpr const char* kLibc = "/lib/x86_64-linux-gnu/libc.so.6";
  if (!std::filesystem::exists(kLibc)) GTEST_SKIP() << "needs " << kLibc;
  const auto file = ModuleFile::open(kLibc);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->elf().build_id(), ::testing::MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(file->elf().build_id().size(), 40u);
}

}  // namespace
}  // namespace fathom::elf
