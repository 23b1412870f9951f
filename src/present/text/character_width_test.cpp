#include "present/text/character_width.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <random>
#include <string>

namespace fathom::present {
namespace {

// What the library says that the table was made from.
Character by_library(std::string_view text) {
  utf8proc_int32_t character = 0;
  const utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                   static_cast<utf8proc_ssize_t>(text.size()), &character);
  if (length <= 0) return {};
  return {static_cast<std::size_t>(length), static_cast<std::size_t>(utf8proc_charwidth(character))};
}

void expect_same(const std::string& text) {
  const Character ours = first_character(text), theirs = by_library(text);
  EXPECT_EQ(ours.bytes, theirs.bytes) << testing::PrintToString(text);
  EXPECT_EQ(ours.columns, theirs.columns) << testing::PrintToString(text);
}

TEST(CharacterWidth, OfEachCharacterIsThatOfTheLibrary) {
  for (utf8proc_int32_t character = 0; character <= 0x10ffff && !testing::Test::HasFailure(); ++character) {
    utf8proc_uint8_t bytes[4];
    const utf8proc_ssize_t length = utf8proc_encode_char(character, bytes);
    if (length > 0)
      expect_same(std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length)));
  }
}

TEST(CharacterWidth, OfAnyBytesIsThatOfTheLibrary) {
  std::mt19937 random(1);
  const std::string bytes(
      "\0\x1f\x20\x7e\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe2\xed\xef\xf0\xf1\xf4\xf5\xf7\xf8"
      "\xff",
      26);
  for (int i = 0; i < 200'000 && !testing::Test::HasFailure(); ++i) {
    std::string text(1 + random() % 5, ' ');
    for (char& one : text)
      one = random() % 4 == 0 ? static_cast<char>(random()) : bytes[random() % bytes.size()];
    expect_same(text);
  }
}

TEST(CharacterWidth, WideAndCombiningCharacters) {
  EXPECT_EQ(first_character("e").columns, 1u);
  EXPECT_EQ(first_character("測").columns, 2u);
  EXPECT_EQ(first_character("\u0301").columns, 0u);
  EXPECT_EQ(first_character("\xff").columns, 1u);
}

}  // namespace
}  // namespace fathom::present
