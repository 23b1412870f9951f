// What a person sees while a recording runs: the live line of record, the first sentence of triage, and the tour. At a terminal; without
// one, none of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/terminal.h"

namespace fathom::support {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class LiveScreens : public testing::Test {
 protected:
  LiveScreens() { ::setenv("TERM", "xterm", 1); }
  // A process that computes in work of its own, for the time of the test.
  Running regex(const std::string& seconds) { return Running({FIRST_SCREENS, "regex", seconds, "unused"}); }
  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
};

constexpr std::string_view kErased = "\r\x1b[K";

TEST_F(LiveScreens, TheLineOfARecordingNamesTheHottestFunctionAndIsErased) {
  FATHOM_NEEDS_PERF_EVENT();
  const Running target = regex("200");
  Terminal terminal(
      fathom_command({"record", "-p", std::to_string(target.pid()), "-d", "150", "-o", recording_}));
  ASSERT_TRUE(terminal.wait_for(" of 150 s · ", 60s)) << terminal.screen();
  ASSERT_TRUE(terminal.wait_for("target ", 60s)) << terminal.screen();
  // What finds the name leaves the CPUs to others.
  ASSERT_TRUE(terminal.wait_for("hot: ", 140s)) << terminal.screen();
  terminal.type(Terminal::kCtrlC);
  EXPECT_EQ(terminal.wait(60s), 0) << terminal.screen();
  const std::string screen(terminal.screen());
  const std::size_t last = screen.rfind(" of 150 s · ");
  EXPECT_NE(screen.find(kErased, last), std::string::npos) << "the line stays on the screen: " << screen;
}

TEST_F(LiveScreens, QuietIsQuietAndAFileGetsNoLine) {
  FATHOM_NEEDS_PERF_EVENT();
  const Running target = regex("60");
  const std::string pid = std::to_string(target.pid());
  Terminal terminal(fathom_command({"record", "-q", "-p", pid, "-d", "4", "-o", recording_}));
  EXPECT_EQ(terminal.wait(60s), 0);
  EXPECT_EQ(terminal.screen(), "");
  const Outcome to_file = fathom({"record", "-p", pid, "-d", "4", "-o", recording_});
  EXPECT_THAT(to_file.errors, Not(HasSubstr("hot: "))) << to_file.errors;
  EXPECT_THAT(to_file.errors, Not(HasSubstr("\r"))) << to_file.errors;
}

TEST_F(LiveScreens, TriageShowsItsFirstSentenceBeforeItEnds) {
  FATHOM_NEEDS_PERF_EVENT();
  const Running target = regex("200");
  Terminal terminal(
      fathom_command({"triage", "-p", std::to_string(target.pid()), "-d", "150", "-o", recording_}));
  ASSERT_TRUE(terminal.wait_for(" of 150 s · ", 60s)) << terminal.screen();
  ASSERT_TRUE(terminal.wait_for("% of CPU time", 140s)) << terminal.screen();
  EXPECT_THAT(terminal.screen(), Not(HasSubstr("Class: "))) << "that is the report's";
  terminal.type(Terminal::kCtrlC);
  EXPECT_TRUE(terminal.wait_for("Class: ", 60s)) << terminal.screen();
  EXPECT_EQ(terminal.wait(60s), 0);
}

TEST_F(LiveScreens, TheTourFindsTheThreeFaultsAndLeavesNothing) {
  FATHOM_NEEDS_PERF_EVENT();
  const Outcome outcome =
      fathom({"tour"}, {.environment = {"TMPDIR=" + folder_.path(), "COLUMNS=100"}, .limit = 120s});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const std::string& text = outcome.output;
  const std::size_t report = text.find("$ fathom report tour.fathom\n"),
                    picture = text.find("$ fathom flamegraph"),
                    waits = text.find("$ fathom report tour.fathom --waits\n"),
                    leaks = text.find("$ fathom leaks");
  ASSERT_LT(leaks, text.size()) << outcome.describe();
  const auto between = [&](std::size_t from, std::size_t to) { return text.substr(from, to - from); };
  // What fathom found, without the tour's own words after an arrow.
  const auto found = [&](std::string part) { return part.substr(0, part.find("\n→ ")); };
  EXPECT_THAT(found(between(report, picture)), HasSubstr("parse_request"));
  EXPECT_THAT(found(between(waits, leaks)), HasSubstr("save_sessions"));
  EXPECT_THAT(found(text.substr(leaks)), HasSubstr("remember_session"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "a file was left";
}

TEST_F(LiveScreens, TheTourEndsWhenItsReaderHasEnough) {
  FATHOM_NEEDS_PERF_EVENT();
  ::setenv("TMPDIR", folder_.path().c_str(), 1);
  Terminal terminal(fathom_command({"tour"}));
  ASSERT_TRUE(terminal.wait_for("Enter: next step", 90s)) << terminal.screen();
  terminal.type("q\n");
  EXPECT_EQ(terminal.wait(30s), 0) << terminal.screen();
  ::unsetenv("TMPDIR");
  EXPECT_THAT(terminal.screen(), Not(HasSubstr("2 of 5")));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "a file was left";
}

}  // namespace
}  // namespace fathom::support
