// The first screen of programs that wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "analysis/waits/hand_made_waits.h"
#include "present/text/text_first_screen.h"

namespace fathom::present {
namespace {

using testing::HasSubstr;

std::string screen_of_waits(const model::Profile& profile, std::size_t width = 100) {
  analysis::ReportOptions options;
  options.selection.metric = analysis::default_metric(profile);
  const auto report = make_report(profile, options);
  return report ? report_text(*report, {.layout = Layout::kFirstScreen, .file = "x.fathom", .width = width})
                : "";
}

// One thread that waits for 9.9 s of 10, on one stack.
struct WaitingProgram {
  analysis::HandMade hand;
  model::ThreadId thread = hand.thread(hand.process(1, "app"), 1, "app", 100'000'000);
  model::ModuleId app = hand.module("app");
  WaitingProgram() {
    model::Thread& row = hand.profile.threads[thread.value];
    row.ran_ns = 100'000'000;
    row.waited_ns = 9'900'000'000;
    row.waits = 1;
    hand.sample(thread, hand.stack({hand.frame(app, {"main"}), hand.frame(app, {"compute()"})}), 100);
  }
  model::Wait& wait(std::vector<std::string> functions, const char* call, model::WaitObjectId object = {}) {
    std::vector<model::FrameId> frames;
    const auto libc = hand.module("libc.so.6");
    for (std::size_t i = 0; i < functions.size(); ++i)
      frames.push_back(hand.frame(i < 2 ? app : libc, {std::move(functions[i])}));
    return hand.wait(thread, hand.stack(frames), call, 0, 9'900, 0, object);
  }
};

// No file has a twentieth of the time, and all of them together have nearly all of it.
TEST(FirstScreen, SaysForWhatAProgramWaitsThatReadsManyFiles) {
  WaitingProgram program;
  for (int i = 0; i < 100; ++i) {
    model::Wait& wait = program.wait({"main", "search()", "read"}, "read",
                                     program.hand.object(model::ObjectKind::kFile, "/x" + std::to_string(i)));
    wait.start_ns += static_cast<std::uint64_t>(i) * 99'000'000;
    wait.waited_ns = 99'000'000;
  }
  program.hand.profile.threads[program.thread.value].waits = 100;
  EXPECT_THAT(screen_of_waits(program.hand.profile),
              HasSubstr("Waited 9.90 s (99 % of its threads' time): 9.90 s reading files in search."));
}

TEST(FirstScreen, UsesThePluralForPageFaults) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto kernel = hand.module("[kernel]", model::ModuleKind::kKernel, model::SymbolSource::kKallsyms);
  hand.sample(thread, hand.stack({hand.frame(kernel, {"asm_exc_page_fault"})}), 600);
  EXPECT_THAT(screen_of_waits(hand.profile), HasSubstr("Page faults account for 100 % of CPU time"));
}

TEST(FirstScreen, OfAProgramThatWaitsSaysFirstForWhat) {
  WaitingProgram program;
  program.wait({"main", "Ledger::post()", "pthread_mutex_lock"}, "futex").argument = 128;
  EXPECT_THAT(
      screen_of_waits(program.hand.profile),
      HasSubstr("\n\nWaited 9.90 s (99 % of its threads' time): 9.90 s for a lock or another thread in "
                "Ledger::post.\nIt ran for 100 ms only, 1.0 % of one core. compute accounts for 100 % of CPU "
                "time"));
  EXPECT_THAT(screen_of_waits(program.hand.profile), testing::Not(HasSubstr("hot path")))
      << "what hardly ran is not worth a path";
}

// The scheduler booked 9.9 s, and of the waits that were walked there are 2.
TEST(FirstScreen, SaysHowMuchOfTheWaitingIsNotExplained) {
  WaitingProgram program;
  program.wait({"main", "Ledger::post()", "pthread_mutex_lock"}, "futex").argument = 128;
  program.hand.profile.waits.back().waited_ns = 2'000'000'000;
  EXPECT_THAT(
      screen_of_waits(program.hand.profile),
      HasSubstr(
          "Waited 9.90 s (99 % of its threads' time): 7.90 s for an unknown cause, 2.00 s for a lock "));
}

TEST(FirstScreen, ShowsAThreadThatWaitsForTheEndOfAnother) {
  WaitingProgram program;
  program.wait({"main", "run_all()", "__pthread_clockjoin_ex"}, "futex").argument = 128;
  EXPECT_THAT(screen_of_waits(program.hand.profile), HasSubstr("9.90 s for the end of a thread in run_all."));
}

// What that other thread did is the news.
TEST(FirstScreen, ShowsWaitsForTheEndOfAnotherThreadLast) {
  WaitingProgram program;
  program.wait({"main", "run_all()", "__pthread_clockjoin_ex"}, "futex").argument = 128;
  program.hand.profile.waits.back().waited_ns = 6'000'000'000;
  program.wait({"main", "Ledger::post()", "pthread_mutex_lock"}, "futex").argument = 128;
  program.hand.profile.waits.back().waited_ns = 3'900'000'000;
  EXPECT_THAT(screen_of_waits(program.hand.profile),
              testing::ContainsRegex("3.90 s for a lock .*, 6.00[[:space:]]+s for the end"));
}

TEST(FirstScreen, SaysWhoAsksForASyncAndWhatAStopIs) {
  WaitingProgram program;
  program.wait({"main", "Journal::append()", "fsync"}, "fsync",
               program.hand.object(model::ObjectKind::kFile, "/data/journal"));
  EXPECT_THAT(screen_of_waits(program.hand.profile),
              HasSubstr("9.90 s for fsync of journal in Journal::append."));
  WaitingProgram stopped;
  stopped.wait({"main"}, "").state = model::WaitState::kStopped;
  EXPECT_THAT(screen_of_waits(stopped.hand.profile), HasSubstr(": 9.90 s stopped."));
}

TEST(FirstScreen, OfAnIdleServerSaysThatItHadNothingToDo) {
  WaitingProgram program;
  program.wait({"main", "serve()", "epoll_wait"}, "epoll_wait");
  EXPECT_THAT(screen_of_waits(program.hand.profile),
              HasSubstr("Its threads were idle for 99 % of the time (idle: event loop, 1 thread)."));
}

TEST(FirstScreen, OfWaitsAloneCountsThemAndNotSamples) {
  WaitingProgram program;
  program.hand.profile.samples.clear();
  program.wait({"main", "Ledger::post()", "pthread_mutex_lock"}, "futex").argument = 128;
  const std::string text = screen_of_waits(program.hand.profile, 0);
  const std::string line = text.substr(0, text.find('\n'));
  EXPECT_THAT(line, HasSubstr(" · 1 wait")) << line;
  EXPECT_THAT(line, testing::Not(HasSubstr("sample"))) << line;
}

}  // namespace
}  // namespace fathom::present
