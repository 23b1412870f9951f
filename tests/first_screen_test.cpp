// The first screen of a report on programs that have one known answer: its sentence names the function, and it fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class FirstScreen : public testing::Test {
 protected:
  // The report on one of the programs; empty if something went wrong, which is a failure.
  std::string screen_of(const std::string& program, const std::string& seconds = "0.6") {
    const Outcome recorded =
        fathom({"record", "-o", recording_, "--", FIRST_SCREENS, program, seconds, folder_ / "journal"});
    EXPECT_TRUE(recorded.ok()) << recorded.describe();
    return screen();
  }
  std::string screen() {
    const Outcome outcome = fathom({"report", recording_}, {.environment = {"COLUMNS=100"}});
    EXPECT_TRUE(outcome.ok()) << outcome.describe();
    EXPECT_LE(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 40) << outcome.output;
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) {
      const auto columns = std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; });
      EXPECT_LE(columns, 100) << line;
    }
    return outcome.output;
  }
  static std::string in_one_line(std::string text) {
    for (std::size_t at; (at = text.find("\n  ")) != std::string::npos;) text.replace(at, 3, " ");
    return text;
  }
  // The second paragraph, in one line.
  static std::string answer_in(const std::string& screen) {
    const std::size_t start = screen.find("\n\n");
    if (start == std::string::npos) return "";
    return in_one_line(screen.substr(start + 2, screen.find("\n\n", start + 2) - start - 2));
  }

  // The first paragraph.
  static std::string heading_of(const std::string& screen) {
    return in_one_line(screen.substr(0, screen.find("\n\n")));
  }

  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
};

TEST_F(FirstScreen, OfARegexThatIsBuiltInALoopNamesTheFunctionAndItsLine) {
  FATHOM_NEEDS_PERF_EVENT();
  const std::string screen = screen_of("regex");
  EXPECT_THAT(answer_in(screen),
              MatchesRegex("LogParser::parse_line \\(first_screens.cpp:[0-9]+\\) accounts for "
                           "(9[0-9]|100) %( ±[0-9]+)? of CPU time.*building std::basic_regex.*"))
      << screen;
}

TEST_F(FirstScreen, OfAChurnOfBlocksNamesWhoAllocates) {
  FATHOM_NEEDS_PERF_EVENT();
  const std::string screen = screen_of("churn");
  EXPECT_THAT(
      answer_in(screen),
      testing::ContainsRegex("Shop::serve_request \\(first_screens.cpp:[0-9]+\\) accounts for [0-9]+ %"))
      << screen;
}

TEST_F(FirstScreen, OfARecursionShowsItOnce) {
  FATHOM_NEEDS_PERF_EVENT();
  const std::string screen = screen_of("recursion");
  EXPECT_THAT(answer_in(screen),
              testing::ContainsRegex("fibonacci \\(first_screens.cpp:[0-9]+\\) accounts for [0-9]+ %"))
      << screen;
  EXPECT_THAT(answer_in(screen), HasSubstr("in its own instructions")) << screen;
  EXPECT_THAT(screen, HasSubstr(" deep")) << screen;
}

TEST_F(FirstScreen, OfAWalkThroughMemoryNamesTheLoop) {
  FATHOM_NEEDS_PERF_EVENT();
  const std::string screen = screen_of("chase", "2");
  EXPECT_THAT(answer_in(screen),
              testing::ContainsRegex("Graph::walk \\(first_screens.cpp:[0-9]+\\) accounts for [0-9]+ %"))
      << screen;
  EXPECT_THAT(answer_in(screen), HasSubstr("in its own instructions")) << screen;
}

TEST_F(FirstScreen, OfPageFaultsNamesWhoAsksForThePages) {
  FATHOM_NEEDS_PERF_EVENT();
  const std::string screen = screen_of("thrash");
  EXPECT_THAT(answer_in(screen),
              testing::ContainsRegex("Table::rebuild \\(first_screens.cpp:[0-9]+\\) accounts for [0-9]+ %"))
      << screen;
}

TEST_F(FirstScreen, OfALockConvoyNamesWhereTheLockIsWanted) {
  FATHOM_NEEDS_BPF();
  const std::string screen = screen_of("convoy", "1.5");
  EXPECT_THAT(in_one_line(screen), MatchesRegex("(.|\n)*\nWaited [^\n]* in Ledger::post(.|\n)*")) << screen;
}

TEST_F(FirstScreen, OfThreadsThatShareOneCpuSaysThatCpusAreShort) {
  FATHOM_NEEDS_BPF();
  const std::string screen = screen_of("starve", "1.5");
  EXPECT_THAT(heading_of(screen), HasSubstr("short of CPUs")) << screen;
  EXPECT_THAT(in_one_line(screen), HasSubstr(" for a CPU (run queue)")) << screen;
}

TEST_F(FirstScreen, OfAServerWithoutRequestsSaysIdle) {
  FATHOM_NEEDS_BPF();
  const Running target({FIRST_SCREENS, "idle", "60"});
  pause_ms(500);
  const Outcome recorded =
      fathom({"record", "-d", "3", "-o", recording_, "-p", std::to_string(target.pid())});
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const std::string screen = this->screen();
  EXPECT_THAT(heading_of(screen), HasSubstr(" · idle")) << screen;
}

TEST_F(FirstScreen, OfASyncForEachRequestNamesWhoAsksForIt) {
  FATHOM_NEEDS_BPF();
  const std::string screen = screen_of("sync", "2");
  // A fast disk costs CPU time, a slow one the wait.
  EXPECT_THAT(in_one_line(screen),
              testing::AnyOf(testing::ContainsRegex(
                                 "Journal::append \\(first_screens.cpp:[0-9]+\\) accounts for [0-9]+ %"),
                             HasSubstr(" for fsync of journal")))
      << screen;
}

TEST_F(FirstScreen, OfALeakNamesWhoKeepsTheBlocks) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome = fathom({"record", "--leaks", "-o", recording_, "--", FIRST_SCREENS, "leak", "1"});
  EXPECT_EQ(outcome.exit_status, 5) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("2,000 blocks")) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("Sessions::remember")) << outcome.describe();
}

}  // namespace
}  // namespace fathom::support
