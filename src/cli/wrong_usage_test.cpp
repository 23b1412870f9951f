#include "cli/wrong_usage.h"

#include <gtest/gtest.h>

#include <limits>

#include "cli/number_word.h"
#include "cli/option_table.h"

namespace fathom::cli {
namespace {

TEST(NearestWord, IsWithinTwoLetters) {
  const std::vector<std::string> words{"record", "report", "limit"};
  EXPECT_EQ(nearest_word("recrod", words), "record") << "transposed letters count as one";
  EXPECT_EQ(nearest_word("limti", words), "limit");
  EXPECT_EQ(nearest_word("statistics", words), "");
  EXPECT_EQ(nearest_word("", words), "") << "every word begins with nothing";
}

TEST(NearestWord, MayBeGivenByItsBeginning) {
  const std::vector<std::string> words{"record", "report", "flamegraph"};
  EXPECT_EQ(nearest_word("flame", words), "flamegraph");
  EXPECT_EQ(nearest_word("rec", words), "record");
  EXPECT_EQ(nearest_word("rexyz", words), "");
}

TEST(NearestWord, IsNoneWhereTwoBeginAlike) {
  EXPECT_EQ(nearest_word("--until", {"--until-live", "--until-rss"}), "");
}

TEST(NoSuchCommand, NamesTheOneThatWasMeant) {
  EXPECT_EQ(no_such_command("flame", {"record", "flamegraph"}).remedy, "fathom flamegraph");
  const Error far = no_such_command("statistics", {"record", "flamegraph"});
  EXPECT_EQ(far.message, "there is no command 'statistics'");
  EXPECT_EQ(far.remedy, "fathom --help, which lists them");
}

struct WrongUsage : testing::Test {
  WrongUsage() {
    app.name("fathom");
    draw = app.add_subcommand("draw", "");
    draw->add_option("-d,--duration", duration, "")->check(CLI::PositiveNumber);
    draw->add_option("--wait", delay, "")->check(CLI::PositiveNumber)->type_name("TIME");
    draw->add_option("--delay", delay, "")->check(CLI::NonNegativeNumber);
    draw->add_option("-r,--rate", rate, "")->check(CLI::Range(1, 100000));
    draw->add_option("--percent", percent, "")->check(CLI::Range(0.0, 100.0));
    draw->add_option("--pid", pid, "");
    draw->add_option("--until", size, "")->transform(size_word());
    draw->add_option("--event", event, "")->check(CLI::IsMember({"clock", "cycles"}));
    draw->add_option("--symbols", folder, "")->check(CLI::ExistingDirectory);
    draw->add_flag("--waits", waits, "");
    draw->add_option("file", file, "");
  }
  // The two lines that a user reads.
  std::string said(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());
    try {
      app.parse(words);
    } catch (const CLI::ParseError& error) {
      const Error wrong = wrong_usage(error, draw->parsed() ? draw : nullptr);
      EXPECT_EQ(wrong.kind, ErrorKind::kUsage);
      return wrong.message + "\n" + wrong.remedy;
    }
    return "";
  }

  CLI::App app;
  CLI::App* draw;
  double duration = 1, delay = 0, percent = 0;
  int rate = 1, pid = 0;
  std::uint64_t size = 0;
  std::string event, folder, file, title;
  bool waits = false;
};

TEST_F(WrongUsage, AnEmptyValueIsNoValueThatWasLeftOut) {
  draw->add_option("--title", title, "")->type_name("TEXT");
  draw->get_option("file")->type_name("FILE");
  draw->get_option("--event")->type_name("NAME");
  const auto found = [&](const std::vector<std::string>& words) {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    const auto error = empty_value(*draw, words);
    return error ? error->message : "";
  };
  EXPECT_EQ(found({"draw", ""}), "draw: FILE is empty");
  EXPECT_EQ(found({"draw", "x", "--symbols", "/"}), "");
  EXPECT_EQ(found({"draw", "x", "--title", ""}), "");
  EXPECT_EQ(found({"draw", "--title", "t", "", "--rate", "2"}), "draw: FILE is empty");
  EXPECT_EQ(found({"draw", "x"}), "");
}

TEST_F(WrongUsage, WhatWasLeftOutIsNamedAsInTheHelpWithAnExample) {
  draw = app.add_subcommand("merge", "");
  draw->add_option("out", file, "")->type_name("OUT")->required();
  EXPECT_EQ(said({"merge"}), "merge needs OUT\nfathom merge all.fathom a.fathom b.fathom");
  draw = app.add_subcommand("limit", "");
  draw->add_option("--memory", size, "")->required();
  EXPECT_EQ(said({"limit"}), "limit needs --memory\nfathom limit --memory 512m -- ./server");
}

TEST_F(WrongUsage, OfAValueSaysWhichOnesThereAre) {
  const std::string help = "\nfathom draw --help";
  EXPECT_EQ(said({"draw", "-d", "abc"}), "draw: --duration 'abc': expected a number above 0" + help);
  EXPECT_EQ(said({"draw", "--wait", "1m30"}),
            "draw: --wait '1m30': expected a time above 0, such as 30, 500ms or 10m" + help);
  EXPECT_EQ(said({"draw", "--delay", "x"}), "draw: --delay 'x': expected a number of 0 or more" + help);
  EXPECT_EQ(said({"draw", "--delay", ""}), "draw: --delay is empty" + help);
  EXPECT_EQ(said({"draw", "-r", "0"}), "draw: --rate '0': expected a number from 1 to 100000" + help);
  EXPECT_EQ(said({"draw", "--percent=200"}), "draw: --percent '200': expected a number from 0 to 100" + help);
  EXPECT_EQ(said({"draw", "--pid", "abc"}), "draw: --pid 'abc': expected a number" + help);
  EXPECT_EQ(said({"draw", "--until", "5zb"}), "draw: --until: expected a size such as 500m or 4g" + help);
  EXPECT_EQ(said({"draw", "--event", "x"}), "draw: --event 'x': it is one of clock, cycles" + help);
  EXPECT_EQ(said({"draw", "--symbols", "/no/such"}), "draw: --symbols: there is no folder /no/such" + help);
  EXPECT_EQ(said({"draw", "--duration"}), "draw: --duration wants a value" + help);
}

TEST_F(WrongUsage, OfAnOptionNamesTheOneThatWasMeant) {
  EXPECT_EQ(said({"draw", "--wiats"}), "draw has no option --wiats\nfathom draw --waits");
  EXPECT_EQ(said({"draw", "--durtion=3"}), "draw has no option --durtion\nfathom draw --duration");
  EXPECT_EQ(said({"draw", "--frobnicate"}), "draw has no option --frobnicate\nfathom draw --help");
  EXPECT_EQ(said({"draw", "-z"}), "draw has no option -z\nfathom draw --help");
}

TEST_F(WrongUsage, OfOneArgumentTooManyNamesTheFirstOfThem) {
  EXPECT_EQ(said({"draw", "a", "b", "c"}), "draw: 'b' is one argument too many\nfathom draw --help");
}

TEST_F(WrongUsage, PrintsNoControlCharacters) {
  EXPECT_EQ(said({"draw", "--\x1b[2J"}).find('\x1b'), std::string::npos);
  EXPECT_EQ(no_such_command("\x1b[2J", {}).message.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace fathom::cli
