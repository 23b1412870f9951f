#include "binary/elf/probe_notes.h"

#include <gtest/gtest.h>

#include "binary/elf/testing_elf.h"

namespace fathom::elf {
namespace {

using namespace testing;
using namespace std::string_literals;

Bytes described(std::uint64_t location, std::uint64_t base, std::uint64_t semaphore, std::string_view texts) {
  Bytes out;
  put(out, location);
  put(out, base);
  put(out, semaphore);
  put_text(out, texts);
  return out;
}

Bytes probe(std::uint64_t location, std::uint64_t base, std::uint64_t semaphore, std::string_view texts) {
  return note("stapsdt\0"s, 3, described(location, base, semaphore, texts));
}

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) append(all, part.data(), part.size());
  return all;
}

// `base`: where .stapsdt.base lies; 0: there is none.
Bytes file_with(const Bytes& notes, std::uint64_t base) {
  ElfBuilder builder;
  const auto code = builder.blob(Bytes(64));
  builder.segment(PT_LOAD, PF_R | PF_X, 0x1000, code);
  builder.section(".note.stapsdt", SHT_NOTE, 0, 0, builder.blob(notes));
  if (base != 0) builder.section(".stapsdt.base", SHT_PROGBITS, SHF_ALLOC, base, builder.blob(Bytes(1)));
  return builder.build();
}

Result<std::vector<ProbeNote>> read(const Bytes& notes, std::uint64_t base = 0x2000) {
  const Bytes bytes = file_with(notes, base);
  return read_probe_notes(ElfFile::parse(bytes, "made.so").value());
}

const Bytes kTwo = joined({probe(0x1010, 0x2000, 0x3000, "otel_memory\0alloc\0008@-8(x) 8@y 8@$5\0"s),
                           probe(0x1020, 0x2000, 0, "other\0done\0\0"s)});

TEST(ProbeNotes, ArePlacesWithNamesAndArguments) {
  const auto notes = read(kTwo);
  ASSERT_TRUE(notes) << notes.error().message;
  EXPECT_EQ(*notes, (std::vector<ProbeNote>{{"otel_memory", "alloc", "8@-8(x) 8@y 8@$5", {0x1010}, {0x3000}},
                                            {"other", "done", "", {0x1020}, {0}}}));
}

TEST(ProbeNotes, FollowTheirBaseToWhereTheFileIsLinkedNow) {
  const auto notes = read(kTwo, 0x7fff2000);
  ASSERT_TRUE(notes);
  EXPECT_EQ((*notes)[0].location.value, 0x7fff1010U);
  EXPECT_EQ((*notes)[0].semaphore.value, 0x7fff3000U);
  EXPECT_EQ((*notes)[1].semaphore.value, 0U);
  const auto as_they_are = read(kTwo, 0);
  ASSERT_TRUE(as_they_are);
  EXPECT_EQ((*as_they_are)[0].location.value, 0x1010U);
}

TEST(ProbeNotes, OfOtherOwnersAreNone) {
  const auto notes = read(joined({note("GNU\0"s, 3, Bytes(20)), note("stapsdt\0"s, 4, Bytes(24)), kTwo}));
  ASSERT_TRUE(notes) << notes.error().message;
  EXPECT_EQ(notes->size(), 2U);
}

TEST(ProbeNotes, AFileMayHaveNone) {
  ElfBuilder builder;
  builder.segment(PT_LOAD, PF_R, 0, builder.blob(Bytes(64)));
  const Bytes bytes = builder.build();
  EXPECT_EQ(read_probe_notes(ElfFile::parse(bytes, "plain").value()).value().size(), 0U);
  EXPECT_EQ(read({}).value().size(), 0U);
}

TEST(ProbeNotes, EachPrefixIsReadOrRefusedInOneLine) {
  std::size_t whole = 0, refused = 0;
  for (std::size_t size = 0; size <= kTwo.size(); ++size) {
    const auto notes = read(Bytes(kTwo.begin(), kTwo.begin() + static_cast<std::ptrdiff_t>(size)));
    if (notes) {
      ++whole;
      continue;
    }
    ++refused;
    EXPECT_EQ(notes.error().kind, ErrorKind::kMalformed);
    EXPECT_TRUE(notes.error().message.starts_with("made.so: .note.stapsdt: the note at offset"))
        << notes.error().message;
    EXPECT_EQ(notes.error().message.find('\n'), std::string::npos);
  }
  EXPECT_GT(refused, 80U);
  EXPECT_GE(whole, 3U);  // none, one, both
}

TEST(ProbeNotes, WithoutNamesOrEndAreRefused) {
  EXPECT_FALSE(read(probe(0x1010, 0, 0, "\0alloc\0\0"s)));
  EXPECT_FALSE(read(probe(0x1010, 0, 0, "otel_memory\0\0\0"s)));
  EXPECT_FALSE(read(probe(0x1010, 0, 0, "otel_memory\0alloc\0008@y"s)));
  Bytes endless = kTwo;
  endless[4] = endless[5] = endless[6] = endless[7] = std::byte{0xff};  // the size of what it describes
  EXPECT_FALSE(read(endless));
}

}  // namespace
}  // namespace fathom::elf
