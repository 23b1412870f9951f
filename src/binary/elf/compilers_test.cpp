#include "binary/elf/compilers.h"

#include <gtest/gtest.h>

#include "binary/elf/testing_elf.h"

namespace fathom::elf {
namespace {

using namespace std::string_literals;

std::string compilers_in(const std::string& comment) {
  testing::ElfBuilder builder;
  builder.segment(PT_LOAD, PF_R | PF_X, 0x1000, builder.blob(testing::Bytes(64)));
  testing::Bytes text;
  testing::put_text(text, comment);
  builder.section(".comment", SHT_PROGBITS, 0, 0, builder.blob(text));
  const testing::Bytes bytes = builder.build();
  return compilers_of(ElfFile::parse(bytes, "x").value());
}

TEST(Compilers, EachIsNamedOnce) {
  EXPECT_EQ(compilers_in("GCC: (Debian) 12.2.0\0rustc version 1.79.0\0GCC: (Debian) 12.2.0\0"s),
            "GCC: (Debian) 12.2.0, rustc version 1.79.0");
}

TEST(Compilers, HostileTextsAreShortAndFew) {
  EXPECT_EQ(compilers_in("a\0b\0\0c\0d\0e\0"s), "a, b, c, d");
  EXPECT_EQ(compilers_in(std::string(100'000, 'x')).size(), 100u);
  EXPECT_EQ(compilers_in(""), "");
}

TEST(Compilers, AFileWithoutTheSectionHasNone) {
  testing::ElfBuilder builder;
  builder.segment(PT_LOAD, PF_R | PF_X, 0x1000, builder.blob(testing::Bytes(64)));
  const testing::Bytes bytes = builder.build();
  EXPECT_EQ(compilers_of(ElfFile::parse(bytes, "x").value()), "");
}

}  // namespace
}  // namespace fathom::elf
