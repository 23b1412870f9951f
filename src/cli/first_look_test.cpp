#include "cli/first_look.h"

#include <gtest/gtest.h>

namespace fathom::cli {
namespace {

TEST(FirstLook, AnAnswerArrivesAsItWasSent) {
  for (const FirstAnswer& answer :
       {FirstAnswer{"Parser::parse_line", "41 %", "41 % of CPU time is below Parser::parse_line (a.cpp:2)."},
        FirstAnswer{"", "", "3 threads waited for a lock."}, FirstAnswer{}})
    EXPECT_EQ(answer_from(to_text(answer)), answer);
}

TEST(FirstLook, WhatIsNoAnswerIsNone) {
  for (const char* text : {"", "one", "one\ntwo\n", "one\ntwo\nthree", "\n\n"})
    EXPECT_EQ(answer_from(text), FirstAnswer{}) << text;
}

// The author of a program chooses the names of its functions.
TEST(FirstLook, NoNameIsACommandToTheTerminalOrTheEndOfALine) {
  const FirstAnswer answer = answer_from(to_text({"evil\x1b[2J\nname", "41 %", std::string(100'000, 'x')}));
  EXPECT_EQ(answer.function.find('\x1b'), std::string::npos) << answer.function;
  EXPECT_EQ(answer.share, "41 %");
  EXPECT_LT(to_text(answer).size(), 4096u);
}

}  // namespace
}  // namespace fathom::cli
