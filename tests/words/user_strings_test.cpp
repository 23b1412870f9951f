#include "user_strings.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

namespace fathom::words {
namespace {

std::vector<std::string> texts_of(std::string_view source, const std::string& file = "x.cpp") {
  std::vector<std::string> texts;
  for (const UserString& string : strings_of(file, source)) texts.push_back(string.text);
  return texts;
}

TEST(UserStrings, AreLiteralsAndNeitherCommentsNorCharactersNorHeaders) {
  EXPECT_EQ(texts_of("#include \"a.h\"\n// \"no\"\n/* \"no\" */ f(\"one\\\"two\", '\"', \"three\", 1'000);"),
            (std::vector<std::string>{"one\\\"two", "three"}));
  EXPECT_EQ(texts_of("R\"x(\"no\")x\" \"yes\""), std::vector<std::string>{"yes"});
  EXPECT_EQ(texts_of("f('one', `two ${x}`)", "x.ts"), (std::vector<std::string>{"one", "two ${x}"}));
  EXPECT_TRUE(texts_of("\"").size() <= 1) << "a source that ends within a literal";
}

TEST(UserStrings, AreJoinedWhereTheCompilerJoinsThem) {
  const auto strings = strings_of("x.cpp", "\n\"one \"\n  \"two\", \"lines\\n\"\n\"more\\n\"");
  ASSERT_EQ(strings.size(), 2u);
  EXPECT_EQ(strings[0], (UserString{"x.cpp", 2, "one two", true}));
  EXPECT_EQ(strings[1], (UserString{"x.cpp", 3, "lines\\nmore\\n", false}));
}

TEST(UserStrings, WordsToAvoidAreFound) {
  for (const char* text : {"nobody waits", "is told by a sample", "it tells why", "beside it", "sought anew",
                           "what a holds lets go", "from 30 % on", "for want of memory", "it says of this",
                           "a number is wanted", "whoever waits"})
    EXPECT_NE(avoided_in(text), "") << text;
  for (const char* text : {"cannot be told apart", "released by", "from 0.5 to 1 s on cpu", "next to it",
                           "for lack of memory", "expected a number", "the user nobody::x"})
    EXPECT_EQ(avoided_in(text), "") << text;
}

TEST(UserStrings, OfTheProgramArePlainEnglish) {
  const auto strings = all_strings(FATHOM_SOURCE_FOLDER);
  ASSERT_GT(strings.size(), 2000u) << "the sources were not found";
  for (const UserString& string : strings)
    EXPECT_EQ(avoided_in(string.text), "") << string.file << ":" << string.line << ": " << string.text;
}

// "'x' is not a number", where German has "is no number".
TEST(UserStrings, OfTheProgramNegateTheVerb) {
  const std::regex there("there (is|are|was|were) no", std::regex::icase),
      verb("\\b(is|are|was|were) no (?!longer)");
  for (const UserString& string : all_strings(FATHOM_SOURCE_FOLDER)) {
    if (string.file.starts_with("web/")) continue;
    EXPECT_FALSE(std::regex_search(std::regex_replace(string.text, there, ""), verb))
        << string.file << ":" << string.line << ": " << string.text;
  }
}

// A list of names (base/word_rows.h) is no sentence: "openat openat2 creat".
bool is_list_of_names(const std::string& text) {
  static const std::regex kNames("[A-Za-z0-9_]+( [A-Za-z0-9_]+)* ?");
  return text.find('_') != std::string::npos && std::regex_match(text, kNames);
}

// A sentence in one piece can be searched and proof-read.
TEST(UserStrings, OfTheProgramAreOneLiteralEach) {
  for (const UserString& string : all_strings(FATHOM_SOURCE_FOLDER))
    EXPECT_FALSE(string.wrapped && !is_list_of_names(string.text))
        << string.file << ":" << string.line << ": " << string.text;
}

}  // namespace
}  // namespace fathom::words
