#include "cli/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/shell_words.h"

namespace fathom::cli {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

struct PresetsTest : testing::Test {
  PresetsTest() {
    CLI::App* record = app.add_subcommand("record", "");
    record->add_option("-d,--duration", text);
    record->add_option("-F,--freq", text);
    record->add_option("-p,--pid", list)->delimiter(',');
    record->add_flag("--heap{sampled}", text);
    record->add_option("--sources", list)->delimiter(',');
    record->add_flag("--leaks", flag);
    record->add_option("command", list);
    add_preset_option(*record);
    app.add_subcommand("report", "");
    project.path = "/x/.fathom.toml";
    project.presets = {{{"record", "api"}, "-d 60 --sources cpu,wait --heap=exact -p 1,2"},
                       {{"record", "quick"}, "-d 3"},
                       {{"record", "command"}, "-d 3 -- ls"},
                       {{"record", "word"}, "ls -d 3"},
                       {{"record", "quote"}, "-d '3"},
                       {{"record", "again"}, "--preset quick"},
                       {{"report", "mine"}, "--x"}};
  }
  Words expand(const Words& words) {
    const auto expanded = expand_preset(app, words, &project);
    EXPECT_TRUE(expanded) << expanded.error().message;
    return expanded.value_or(Words{});
  }
  Error refusal(const Words& words) {
    const auto expanded = expand_preset(app, words, &project);
    EXPECT_FALSE(expanded);
    return expanded ? Error{} : expanded.error();
  }

  CLI::App app{"", "fathom"};
  std::string text;
  std::vector<std::string> list;
  bool flag = false;
  PresetFile project;
};

TEST_F(PresetsTest, OptionsStandBehindTheCommand) {
  EXPECT_EQ(expand({"record", "--preset", "api", "--", "ls"}),
            (Words{"record", "-d", "60", "--sources", "cpu,wait", "--heap=exact", "-p", "1,2", "--preset",
                   "api", "--", "ls"}));
  EXPECT_EQ(expand({"record", "-p", "5"}), (Words{"record", "-p", "5"})) << "no preset";
  EXPECT_EQ(expand({"record", "--", "x", "--preset", "api"}), (Words{"record", "--", "x", "--preset", "api"}))
      << "of the command that is launched";
}

TEST_F(PresetsTest, WhatIsTypedReplacesTheSameOption) {
  for (const Words& typed : std::vector<Words>{{"-d", "5"}, {"-d5"}, {"--duration=5"}, {"--duration", "5"}}) {
    Words words{"record", "--preset=api"};
    words.insert(words.end(), typed.begin(), typed.end());
    Words expected{"record", "--sources", "cpu,wait", "--heap=exact", "-p", "1,2", "--preset=api"};
    expected.insert(expected.end(), typed.begin(), typed.end());
    EXPECT_EQ(expand(words), expected);
  }
  EXPECT_EQ(
      expand({"record", "--preset", "api", "--heap", "--pid", "9"}),
      (Words{"record", "-d", "60", "--sources", "cpu,wait", "--preset", "api", "--heap", "--pid", "9"}));
}

TEST_F(PresetsTest, AProjectsPresetComesBeforeTheBuiltInOne) {
  EXPECT_EQ(expand({"record", "--preset", "quick"}), (Words{"record", "-d", "3", "--preset", "quick"}));
  EXPECT_EQ(expand_preset(app, {"record", "--preset", "quick"}, nullptr).value(),
            (Words{"record", "-d", "10", "--preset", "quick"}));
}

TEST_F(PresetsTest, OnlyOptionsArePresets) {
  for (const char* name : {"command", "word", "quote", "again"}) {
    const Error error = refusal({"record", "--preset", name});
    EXPECT_EQ(error.kind, ErrorKind::kUsage);
    EXPECT_THAT(error.message, HasSubstr(std::string("the preset ") + name)) << name;
  }
  EXPECT_THAT(refusal({"record", "--preset", "api", "--preset", "quick"}).message, HasSubstr("twice"));
}

TEST_F(PresetsTest, AnUnknownNameListsThoseOfTheCommand) {
  const Error error = refusal({"record", "--preset", "ap\x1b"});
  EXPECT_EQ(error.message, "there is no preset 'ap?' of fathom record");
  EXPECT_THAT(error.remedy, HasSubstr("one of again, api, command, dev, leak, prod, quick, quote, word; "));
  EXPECT_THAT(expand_preset(app, {"report", "--preset", "x"}, nullptr).error().remedy,
              testing::StartsWith("fathom help presets"));
}

TEST_F(PresetsTest, HelpListsThem) {
  const std::string text = presets_text(&project);
  for (const char* part : {"record prod", "/x/.fathom.toml", "record api", "report mine"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(presets_text(nullptr), testing::Not(HasSubstr("record api")));
}

TEST(ShellWords, AreThoseOfAShell) {
  EXPECT_EQ(shell_words("a  'b c' \"d\\\"e\" f\\ g ''").value(), (Words{"a", "b c", "d\"e", "f g", ""}));
  EXPECT_EQ(shell_words(" ").value(), Words{});
  EXPECT_FALSE(shell_words("a 'b"));
}

}  // namespace
}  // namespace fathom::cli
