#include "present/tui/keys.h"

#include <gtest/gtest.h>

namespace fathom::tui {
namespace {

std::vector<KeyKind> kinds(const std::vector<Key>& keys) {
  std::vector<KeyKind> all;
  for (const Key& key : keys) all.push_back(key.kind);
  return all;
}

TEST(Keys, CursorKeysOfSeveralTerminals) {
  KeyReader reader;
  EXPECT_EQ(kinds(reader.feed("\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[1;5C\x1b[1~\x1bOF\x1b[Z")),
            (std::vector{KeyKind::kUp, KeyKind::kDown, KeyKind::kPageUp, KeyKind::kPageDown, KeyKind::kRight,
                         KeyKind::kHome, KeyKind::kEnd, KeyKind::kBackTab}));
}

TEST(Keys, ASequenceInPiecesIsOneKey) {
  KeyReader reader;
  EXPECT_TRUE(reader.feed("\x1b").empty());
  EXPECT_TRUE(reader.feed("[").empty());
  EXPECT_TRUE(reader.waiting());
  EXPECT_EQ(kinds(reader.feed("A")), std::vector{KeyKind::kUp});
}

TEST(Keys, AnEscapeAloneIsOneAfterAPause) {
  KeyReader reader;
  EXPECT_TRUE(reader.feed("\x1b").empty());
  EXPECT_EQ(kinds(reader.pause()), std::vector{KeyKind::kEscape});
  EXPECT_TRUE(reader.pause().empty());
}

TEST(Keys, TheMouseClicksAndItsWheelTurns) {
  KeyReader reader;
  EXPECT_EQ(reader.feed("\x1b[<0;12;3M\x1b[<0;12;3m\x1b[<64;1;1M\x1b[<65;1;1M"),
            (std::vector<Key>{{KeyKind::kClick, "", 2, 11}, {KeyKind::kWheelUp}, {KeyKind::kWheelDown}}));
}

TEST(Keys, UnknownSequencesAreNoLetters) {
  KeyReader reader;
  EXPECT_TRUE(
      reader.feed("\x1b[200~\x1b[<35;12;3M\x1b[<0;0;0M\x1b[<;M\x1b[<99999999999999999999999;1;1M").empty());
  const std::string endless = "\x1b[" + std::string(500, '1');
  (void)reader.feed(endless);
  EXPECT_EQ(reader.feed("q").size(), 1U) << "what never ends is let go";
}

TEST(Keys, CharactersOfSeveralBytesAreOneKey) {
  KeyReader reader;
  EXPECT_TRUE(reader.feed("\xc3").empty());
  const auto keys = reader.feed(
      "\xa4"
      "x\x80");
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].text, "ä");
  EXPECT_EQ(keys[1].text, "x");
}

}  // namespace
}  // namespace fathom::tui
