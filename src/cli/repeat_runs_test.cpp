#include "cli/repeat_runs.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fathom::cli {
namespace {

using Words = std::vector<std::string>;

std::string order_of(const std::vector<PlannedRun>& runs) {
  std::string order;
  for (const PlannedRun& run : runs) order += run.against ? 'b' : 'n';
  return order;
}

TEST(RepeatRuns, TheSidesTakeTurnsAndEveryOtherPairIsTurnedRound) {
  EXPECT_EQ(order_of(plan_runs(4, true, false, "x.fathom")), "nbbnnbbn");
  EXPECT_EQ(order_of(plan_runs(3, true, true, "x.fathom")), "bnnbbn");
  EXPECT_EQ(order_of(plan_runs(3, false, true, "x.fathom")), "nnn");
}

TEST(RepeatRuns, EveryRunHasAFileOfItsOwn) {
  const auto alone = plan_runs(2, false, false, "out/x.fathom");
  EXPECT_EQ(alone[0].path, "out/x-1.fathom");
  EXPECT_EQ(alone[1].path, "out/x-2.fathom");
  const auto pair = plan_runs(1, true, false, "recording");
  EXPECT_EQ(pair[0].path, "recording-new-1.fathom");
  EXPECT_EQ(pair[1].path, "recording-base-1.fathom");
}

TEST(RepeatRuns, TheComparisonIsALineForAShell) {
  EXPECT_EQ(comparison_of(plan_runs(2, true, false, "a b/it's")),
            "fathom diff --base 'a b/it'\\''s-base-1.fathom' 'a b/it'\\''s-base-2.fathom' --new "
            "'a b/it'\\''s-new-1.fathom' 'a b/it'\\''s-new-2.fathom'");
  EXPECT_EQ(comparison_of(plan_runs(2, false, false, "x")), "");
  EXPECT_EQ(comparison_of({}), "");
}

// What repeat_runs makes of two runs, each of which is `run`, in a process of its own; `before` is done there first.
int status_of_runs(void (*before)(), int (*run)()) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    before();
    RepeatOptions options;
    options.count = 2;
    options.output = "/nonexistent/x.fathom";
    options.quiet = true;
    const Result<RepeatedRun> result = repeat_runs(options);
    if (!result) ::_exit(99);
    ::_exit(result->to_record ? run() : result->status);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(RepeatRuns, TheStatusIsThatOfTheRunThatFailed) {
  EXPECT_EQ(status_of_runs([] {}, [] { return 0; }), 0);
  EXPECT_EQ(status_of_runs([] {}, [] { return 3; }), 3);
}

// Started by a program that ignores SIGCHLD, every run had succeeded.
TEST(RepeatRuns, TheStatusIsKnownWhereEndsOfChildrenAreIgnored) {
  EXPECT_EQ(status_of_runs([] { ::signal(SIGCHLD, SIG_IGN); }, [] { return 3; }), 3);
  // A run finds it as it was.
  EXPECT_EQ(status_of_runs([] { ::signal(SIGCHLD, SIG_IGN); },
                           [] {
                             struct sigaction now {};
                             ::sigaction(SIGCHLD, nullptr, &now);
                             return now.sa_handler == SIG_IGN ? 0 : 4;
                           }),
            0);
}

// A run that was asked for an end with its group is the last, though it ended well.
TEST(RepeatRuns, NoRunIsBegunAfterARequestToEnd) {
  EXPECT_EQ(status_of_runs([] { ::setpgid(0, 0); },
                           [] {
                             ::signal(SIGINT, SIG_IGN);
                             ::kill(0, SIGINT);
                             return 0;
                           }),
            1);
}

TEST(RepeatRuns, WordsAreThoseOfAShell) {
  EXPECT_EQ(words_of_command("./old  --port 80").value(), (Words{"./old", "--port", "80"}));
  EXPECT_EQ(words_of_command("sh -c 'a b; exit \"1\"'").value(), (Words{"sh", "-c", "a b; exit \"1\""}));
  EXPECT_EQ(words_of_command(R"(x "a \"b\" \n" c\ d '')").value(), (Words{"x", R"(a "b" \n)", "c d", ""}));
  for (const char* wrong : {"", "  ", "a 'b", "a \"b"}) {
    const auto words = words_of_command(wrong);
    ASSERT_FALSE(words) << wrong;
    EXPECT_EQ(words.error().kind, ErrorKind::kUsage);
    EXPECT_FALSE(words.error().remedy.empty());
  }
}

}  // namespace
}  // namespace fathom::cli
