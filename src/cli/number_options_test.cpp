// Every option of every command that is a number, with texts that are none or that no such option can mean: each is refused
// before the command runs. CLI11 alone reads "-5" as 2^64 - 5 where the number has 64 bits without a sign.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace fathom::cli {
namespace {

// Whether the option takes this text, as the parser would ask it.
bool takes(CLI::Option& option, const std::string& text) {
  option.clear();
  try {
    option.add_result(text);
    option.run_callback();
  } catch (const CLI::Error&) {
    option.clear();
    return false;
  }
  option.clear();
  return true;
}

bool takes_any(CLI::Option& option, const std::vector<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(), [&](const auto& text) { return takes(option, text); });
}

// "report --top", and the option.
std::map<std::string, CLI::Option*> number_options(CLI::App& app, std::vector<Run>& runs) {
  std::map<std::string, CLI::Option*> found;
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(command.name, "");
    runs.push_back(command.add(*sub));
    for (CLI::Option* option : sub->get_options())
      // Files, words and choices take no number, or any text.
      if (option->get_items_expected_max() != 0 && !takes(*option, "abc") &&
          takes_any(*option, {"1", "10", "1000", "2000", "20000"}))
        found.emplace(std::string(command.name) + " " + option->get_name(), option);
  }
  return found;
}

TEST(NumberOptions, RefuseWhatIsNoNumberTooSmallOrTooLarge) {
  CLI::App app;
  std::vector<cli::Run> runs;  // Run alone is a function of testing::Test
  const auto options = number_options(app, runs);
  EXPECT_GT(options.size(), 60U) << "the table is not read";
  for (const char* name : {"limit --memory", "record --until-rss", "oom --record", "report --top"})
    EXPECT_TRUE(options.contains(name)) << name;
  std::vector<std::string> wrong;
  for (const auto& [name, option] : options)
    for (const char* text : {"-1", "-5", "", "1x", "nan", "inf", "-inf", "1e99", "1e999",
                             "99999999999999999999", "-18446744073709551611"})
      if (takes(*option, text)) wrong.push_back(name + " '" + text + "'");
  EXPECT_THAT(wrong, testing::ElementsAre());
}

// What 0 would mean there: nothing is recorded, or everything ends at once.
TEST(NumberOptions, RefuseZeroWhereItMeansNothing) {
  CLI::App app;
  std::vector<cli::Run> runs;
  const auto options = number_options(app, runs);
  for (const char* name : {"record --until-rss", "record --until-live", "record --each", "record --duration",
                           "record --freq", "record --repeat", "limit --memory", "limit --then-memory",
                           "limit --resolution", "oom --record", "stacks --count", "stacks --interval",
                           "watch --interval", "serve --window", "export --max-samples"}) {
    ASSERT_TRUE(options.contains(name)) << name;
    EXPECT_FALSE(takes(*options.at(name), "0")) << name;
  }
  for (const char* name :
       {"limit --swap", "report --top", "leaks --frames", "record --delay", "clean --keep"})
    EXPECT_TRUE(takes(*options.at(name), "0")) << name;
}

}  // namespace
}  // namespace fathom::cli
