// Untrusted text on the reader's terminal: names in recordings and messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/notices.h"
#include "cli/output.h"

namespace fathom::cli {
namespace {

TEST(TerminalText, ResultsAreTextLinesTabsAndColours) {
  EXPECT_EQ(text_for_terminal("a\tb\n\x1b[1mTitle\x1b[0m \x1b[38;5;12mx\n"),
            "a\tb\n\x1b[1mTitle\x1b[0m \x1b[38;5;12mx\n");
  EXPECT_EQ(text_for_terminal("\x1b[2J\x1b]0;title\x07\x1b[31"), "?[2J?]0;title??[31");
  EXPECT_EQ(text_for_terminal("f\xc2\x9b"
                              "2J;g\r\n\u202e"),
            "f\uFFFD"
            "2J;g?\n\uFFFD");
  EXPECT_EQ(text_for_terminal(""), "");
}

// Standard error is a file meanwhile.
std::string said(const auto& say_it) {
  const int before = ::dup(STDERR_FILENO);
  std::FILE* file = std::tmpfile();
  ::dup2(::fileno(file), STDERR_FILENO);
  say_it();
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  std::string text(4096, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

TEST(TerminalText, NoticesAreOneLineOfText) {
  const std::string hostile = "lib\x1b[2J\nfathom: all is well";
  EXPECT_EQ(said([&] { say("fathom: --symbols: {} {}\n", hostile, 5); }),
            "fathom: --symbols: lib?[2J?fathom: all is well 5\n");
  EXPECT_EQ(said([&] { say("{}{:>4}\n", hostile.c_str(), std::string_view("\x7f")); }),
            "lib?[2J?fathom: all is well   ?\n");
}

}  // namespace
}  // namespace fathom::cli
