#include "present/text/terminal_style.h"

#include <gtest/gtest.h>

#include "present/text/text_table.h"

namespace fathom::present {
namespace {

TEST(TerminalStyle, ASequenceOfStyleTakesNoColumn) {
  for (const std::string& text :
       {in_bold("parse"), share_bar(0.625, 8).substr(0, 5) + "parse", linked_place("parse", "/src/a b.cpp"),
        in_bold(linked_place("parse", "/src/x.cpp"))})
    EXPECT_EQ(display_width(text), 5u) << text;
}

TEST(TerminalStyle, OnlyColoursAndLinksToFilesAreStyle) {
  EXPECT_EQ(style_length("\x1b[38;5;12mx"), 10u);
  EXPECT_EQ(style_length("\x1b]8;;file:///a/b%20c.rs\x1b\\x"), 25u);
  EXPECT_EQ(style_length("\x1b]8;;\x1b\\x"), 7u);
  for (const std::string_view other :
       {"", "x", "\x1b", "\x1b[2J", "\x1b[1", "\x1b]0;title\x07", "\x1b]8;;http://evil.example\x1b\\x",
        "\x1b]8;;file:///a b\x1b\\", "\x1b]8;;file:///a\x07", "\x1b]52;c;eA==\x1b\\"})
    EXPECT_EQ(style_length(other), 0u) << other;
}

TEST(TerminalStyle, ALinkHoldsNothingThatATerminalObeys) {
  const std::string link = linked_place("x.cpp:1", "/src/\x1b\\]0;t\x07 ü.cpp");
  EXPECT_EQ(link, "\x1b]8;;file:///src/%1B%5C%5D0%3Bt%07%20%C3%BC.cpp\x1b\\x.cpp:1\x1b]8;;\x1b\\");
  EXPECT_EQ(linked_place("x.cpp:1", "../x.cpp"), "x.cpp:1") << "its folder is not known";
  EXPECT_EQ(linked_place("", "/x.cpp"), "");
}

TEST(TerminalStyle, ABarIsAsLongAsItsShare) {
  for (int eighths = 1; eighths <= 64; ++eighths) {
    const std::string bar = share_bar(eighths / 64.0, 8);
    EXPECT_EQ(display_width(bar), static_cast<std::size_t>(eighths + 7) / 8) << eighths;
  }
  EXPECT_EQ(share_bar(0, 8), "");
  EXPECT_EQ(share_bar(-1, 8), "");
  EXPECT_EQ(display_width(share_bar(1e-9, 8)), 1u);
  EXPECT_EQ(display_width(share_bar(1e300, 8)), 8u);
}

TEST(TerminalStyle, AnyNameInASentenceMayBeBold) {
  EXPECT_EQ(with_bold_names("parse takes 3 %; next is read, of parse", {"parse", "", "read", "gone"}),
            "\x1b[1mparse\x1b[0m takes 3 %; next is \x1b[1mread\x1b[0m, of parse");
  // Filled into lines as the same text without it.
  const std::string sentence = "Vec<A, B>::push accounts for 30 % of the time, and that is more than before.";
  std::string bold = fill("", with_bold_names(sentence, {"Vec<A, B>::push"}), 20, 2);
  for (const std::string_view code : {"\x1b[1m", "\x1b[0m"}) bold.erase(bold.find(code), 4);
  EXPECT_EQ(bold, fill("", sentence, 20, 2));
}

}  // namespace
}  // namespace fathom::present
