// The first screen of a report on programs that have one known answer: its sentence names the function, and it fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class FirstScreen : public testing::Test {
 protected:
  // The report on one of the programs; empty if something went wrong, which is a failure.
  std::string screen_of(const std::string& program) {
    const std::string recording = folder_ / "x.fathom";
    const Outcome recorded = fathom({"record", "-o", recording, "--", FIRST_SCREENS, program, "0.6"});
    EXPECT_TRUE(recorded.ok()) << recorded.describe();
    const Outcome outcome = fathom({"report", recording});
    EXPECT_TRUE(outcome.ok()) << outcome.describe();
    EXPECT_LE(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 40) << outcome.output;
    return outcome.output;
  }
  // The second paragraph, in one line.
  static std::string answer_in(const std::string& screen) {
    const std::size_t start = screen.find("\n\n");
    if (start == std::string::npos) return "";
    std::string answer = screen.substr(start + 2, screen.find("\n\n", start + 2) - start - 2);
    for (std::size_t at; (at = answer.find("\n  ")) != std::string::npos;) answer.replace(at, 3, " ");
    return answer;
  }

  TempDir folder_;
};

TEST_F(FirstScreen, OfARegexThatIsBuiltInALoopNamesTheFunctionAndItsLine) {
  FATHOM_NEEDS_PERF_EVENT();
  const std::string screen = screen_of("regex");
  EXPECT_THAT(answer_in(screen),
              MatchesRegex("(9[0-9]|100) %( ±[0-9]+)? of CPU time is below LogParser::parse_line "
                           "\\(first_screens.cpp:[0-9]+\\): .*building std::basic_regex.*"))
      << screen;
}

TEST_F(FirstScreen, OfAChurnOfBlocksNamesWhoAllocates) {
  FATHOM_NEEDS_PERF_EVENT();
  const std::string screen = screen_of("churn");
  EXPECT_THAT(answer_in(screen), HasSubstr("of CPU time is below Shop::serve_request (first_screens.cpp:"))
      << screen;
}

TEST_F(FirstScreen, OfARecursionShowsItOnce) {
  FATHOM_NEEDS_PERF_EVENT();
  const std::string screen = screen_of("recursion");
  EXPECT_THAT(answer_in(screen), HasSubstr("of CPU time is below fibonacci (first_screens.cpp:")) << screen;
  EXPECT_THAT(answer_in(screen), HasSubstr("in its own instructions")) << screen;
  EXPECT_THAT(screen, HasSubstr(" deep")) << screen;
}

}  // namespace
}  // namespace fathom::support
