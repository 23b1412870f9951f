#include "cli/option_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/manual.h"

namespace fathom::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A program with an option of each kind.
struct Declared : testing::Test {
  Declared() {
    use_help_format(app, 60);
    CLI::App* draw = app.add_subcommand("draw", "draws a picture");
    draw->add_option("-r,--rate", rate, "samples per second")
        ->capture_default_str()
        ->check(CLI::Range(1, 100));
    draw->add_option("--engine", engine, "how")->check(CLI::IsMember({"auto", "bpf"}));
    draw->add_flag("--heap{sampled}", heap, "the heap, too")->check(CLI::IsMember({"sampled", "exact"}));
    draw->add_flag("-q,--quiet", quiet, "print errors only, and it's that");
    draw->add_option("-o", output, "where to")->type_name("FILE");
    draw->add_flag("--secret", quiet, "nobody is told")->group("");
    draw->add_flag("--odd", quiet, "for a few")->group("Oddities");
    draw->add_option("command", command, "what to run");
    about = add_about_commands(app);
  }
  const CLI::App& draw() { return *app.get_subcommand("draw"); }

  CLI::App app{"paints", "paints"};
  int rate = 10;
  std::string engine, heap, output;
  bool quiet = false;
  std::vector<std::string> command;
  std::vector<AboutCommand> about;
};
using OptionTable = Declared;
using Manual = Declared;
using Completion = Declared;

TEST_F(OptionTable, HoldsNamesValuesAndDefaults) {
  const auto groups = options_of(draw());
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].title, "Arguments");
  EXPECT_EQ(names_and_value(groups[0].rows.at(0)), "command ...");
  const auto& options = groups[1].rows;  // after --help
  EXPECT_EQ(names_and_value(options.at(1)), "-r, --rate N");
  EXPECT_EQ(description(options.at(1)), "samples per second (default: 10)");
  EXPECT_EQ(names_and_value(options.at(2)), "--engine auto|bpf");
  EXPECT_THAT(options.at(2).choices, ElementsAre("auto", "bpf"));
  EXPECT_EQ(names_and_value(options.at(3)), "--heap[=sampled|exact]");
  EXPECT_EQ(names_and_value(options.at(4)), "-q, --quiet");
  EXPECT_EQ(names_and_value(options.at(5)), "-o FILE");
  EXPECT_EQ(options.size(), 6u) << "what is hidden is not told";
  EXPECT_EQ(groups[2].title, "Oddities");
}

TEST_F(OptionTable, HelpIsNoWiderThanTheTerminal) {
  const std::string help = app.get_subcommand("draw")->help();
  EXPECT_THAT(help, HasSubstr("\n  -r, --rate N                samples per second (default:\n                "
                              "              10)\n"));
  EXPECT_THAT(help, HasSubstr("\n  -q, --quiet                 print errors only, and it's\n                 "
                              "             that\n"));
  EXPECT_THAT(help, Not(HasSubstr("secret")));
}

TEST(OptionValues, AWordBehindTheValueOfARepeatedOptionIsAnArgument) {
  CLI::App app;
  std::string file;
  std::vector<std::string> patterns, several, listed;
  app.add_option("file", file);
  app.add_option("--focus", patterns)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--show", listed)
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--base", several);
  end_options_with_their_value(app);
  app.parse("--focus a --focus b --show x,y f --base c d", false);
  EXPECT_EQ(file, "f");
  EXPECT_THAT(patterns, ElementsAre("a", "b"));
  EXPECT_THAT(listed, ElementsAre("x", "y"));
  EXPECT_THAT(several, ElementsAre("c", "d"));
}

TEST_F(Manual, HasEveryOptionOfHelp) {
  const std::string page = manual_page(app, "draw").value();
  for (const OptionGroup& group : options_of(draw()))
    for (const OptionRow& row : group.rows)
      for (const std::string& name : row.names) {
        std::string escaped;
        for (const char c : name) escaped += c == '-' ? "\\-" : std::string(1, c);
        EXPECT_THAT(page, HasSubstr(escaped));
      }
  EXPECT_THAT(page, HasSubstr(".SH ODDITIES\n"));
  EXPECT_THAT(manual_page(app, "").value(),
              HasSubstr(".B draw\ndraws a picture; see\n.BR fathom\\-draw (1)\n"));
}

TEST_F(Manual, NoSuchCommandIsAnErrorThatNamesThem) {
  const auto page = manual_page(app, "drew");
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(page.error().remedy,
            "one of draw, help, man, completion; fathom help words, symptoms, idioms or presets");
}

TEST_F(Completion, EveryShellKnowsCommandsOptionsAndValues) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string text = completion_for(app, shell).value();
    for (const char* word : {"draw", "completion", "rate", "engine", "auto bpf"})
      EXPECT_THAT(text, HasSubstr(word)) << shell;
    EXPECT_THAT(text, Not(HasSubstr("--secret"))) << shell;
  }
  EXPECT_EQ(completion_for(app, "tcsh").error().remedy, "bash, zsh or fish");
}

TEST_F(Completion, QuotesInADescriptionEndNoWord) {
  EXPECT_THAT(completion_for(app, "fish").value(), HasSubstr("-d 'print errors only, and it'\\''s that'"));
}

}  // namespace
}  // namespace fathom::cli
