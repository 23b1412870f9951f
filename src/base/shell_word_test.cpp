#include "base/shell_word.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

namespace fathom {
namespace {

TEST(ShellWord, IsQuotedOnlyWhereAShellWouldChangeIt) {
  EXPECT_EQ(shell_word("a/b.fathom"), "a/b.fathom");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("my projects/a.fathom"), "'my projects/a.fathom'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
}

TEST(ShellWord, ReachesAProgramAsItIs) {
  for (const std::string text :
       {"a b", "it's", "$(true)", "a;b", "~", "*", "\"x\"", "\\", "a\tb", "#", "-", "&|<>"}) {
    FILE* pipe = ::popen(("printf %s " + shell_word(text)).c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::array<char, 64> answer{};
    const std::size_t size = std::fread(answer.data(), 1, answer.size(), pipe);
    ::pclose(pipe);
    EXPECT_EQ(std::string(answer.data(), size), text);
  }
}

}  // namespace
}  // namespace fathom
