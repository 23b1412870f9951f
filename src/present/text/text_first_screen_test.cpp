#include "present/text/text_first_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/core/hand_made_profile.h"
#include "analysis/waits/hand_made_waits.h"
#include "base/golden.h"
#include "model/random_profile.h"
#include "model/steps.h"
#include "present/sentences/hot_spot_sentences.h"
#include "present/text/terminal_style.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string screen_of(const model::Profile& profile, std::size_t width = 100, bool color = false) {
  analysis::ReportOptions options;
  options.selection.metric = analysis::default_metric(profile);
  const auto report = make_report(profile, options);
  return report ? report_text(
                      *report,
                      {.layout = Layout::kFirstScreen, .file = "x.fathom", .width = width, .color = color})
                : "";
}

std::string without_style(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t style = style_length(std::string_view(text).substr(at)); style != 0)
      at += style;
    else
      plain += text[at++];
  }
  return plain;
}

TEST(FirstScreen, StyleChangesNoWordAndNoLine) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    EXPECT_EQ(without_style(screen_of(profile, 80, true)), screen_of(profile, 80)) << seed;
  }
}

TEST(FirstScreen, OnATerminalFunctionsAreBoldPlacesAreLinksAndSharesAreBars) {
  const std::string screen = screen_of(analysis::small_server(), 100, true);
  EXPECT_THAT(screen, HasSubstr(in_bold("Node::walk") + " accounts for 33 %"));
  EXPECT_THAT(screen, HasSubstr("   33 %  " + share_bar(1.0 / 3, 8)));
  EXPECT_THAT(screen_of(analysis::small_server(), 80, true), Not(HasSubstr(share_bar(1.0 / 3, 8))));
}

TEST(FirstScreen, APlaceWithItsFolderIsALink) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto frame = hand.frame(hand.module("app"), {"encode"});
  const std::size_t line = hand.profile.frames[frame.value].first_line;
  ASSERT_LT(line, hand.profile.lines.size());
  hand.profile.lines[line].file = hand.profile.strings.intern("/src/media/codec one.cpp");
  hand.profile.lines[line].line = 12;
  hand.sample(thread, hand.stack({frame}), 1000);
  EXPECT_THAT(screen_of(hand.profile, 100, true),
              HasSubstr("\x1b]8;;file:///src/media/codec%20one.cpp\x1b\\codec one.cpp:12\x1b]8;;\x1b\\"));
}

TEST(FirstScreen, OfTheSmallServer) {
  expect_golden("first_screen.txt", screen_of(analysis::small_server()));
}

TEST(FirstScreen, OfAWaitingServer) {
  expect_golden("first_screen_waits.txt", screen_of(analysis::waiting_server()));
}

// 98 % below one function of the program, all of it in a library: the program's function is the answer.
TEST(FirstScreen, NamesTheOwnFunctionThatExplainsMost) {
  analysis::HandMade hand;
  const auto process = hand.process(1, "slow");
  const auto thread = hand.thread(process, 1, "slow");
  const auto app = hand.module("slow"), lib = hand.module("libstdc++.so.6");
  const auto root = hand.frame(app, {"main"}),
             parse = hand.frame(app, {"LogParser::parse_line(char const*)"});
  const auto regex = hand.frame(lib, {"std::__cxx11::basic_regex<char>::basic_regex(char const*)"});
  const auto cast = hand.frame(lib, {"__dynamic_cast"}),
             compare = hand.frame(lib, {"std::locale::id::_M_id() const"});
  hand.sample(thread, hand.stack({root, parse, regex, cast}), 600);
  hand.sample(thread, hand.stack({root, parse, regex, compare}), 380);
  hand.sample(thread, hand.stack({root}), 20);
  EXPECT_THAT(screen_of(hand.profile),
              HasSubstr("LogParser::parse_line accounts for 98 % of CPU time, almost all of it building "
                        "std::basic_regex.\n"));
}

TEST(FirstScreen, ShowsTheAllocatorsTimeAndTheirCallers) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto app = hand.module("app"), libc = hand.module("libc.so.6"),
             system = hand.module("[kernel]", model::ModuleKind::kKernel, model::SymbolSource::kKallsyms);
  const auto main = hand.frame(app, {"main"}), serve = hand.frame(app, {"Shop::serve()"}),
             load = hand.frame(app, {"Shop::load()"});
  const auto malloc = hand.frame(libc, {"malloc"}), inner = hand.frame(libc, {"_int_malloc"}),
             free = hand.frame(libc, {"free"}), fault = hand.frame(system, {"asm_exc_page_fault"});
  hand.sample(thread, hand.stack({main, serve, malloc, inner}), 300);
  hand.sample(thread, hand.stack({main, serve, free}), 60);
  hand.sample(thread, hand.stack({main, load, malloc, inner, fault}), 40);
  hand.sample(thread, hand.stack({main, load, fault}), 40);
  hand.sample(thread, hand.stack({main, load}), 560);
  const std::string screen = screen_of(hand.profile, 0);
  EXPECT_THAT(screen,
              HasSubstr("Allocating and freeing take 40 % ±3 of CPU time (4.0 % in the kernel), nearly "
                        "all of that for Shop::serve; page faults of all kinds take 8.0 %."))
      << screen;
}

TEST(FirstScreen, HasNoWordForAllocatorsThatTakeLittle) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto main = hand.frame(hand.module("app"), {"main"}),
             malloc = hand.frame(hand.module("libc.so.6"), {"malloc"});
  hand.sample(thread, hand.stack({main, malloc}), 40);
  hand.sample(thread, hand.stack({main}), 960);
  EXPECT_THAT(screen_of(hand.profile), testing::Not(HasSubstr("Allocating")));
}

// It said "1,363 samples of CPU time are too few" of six million instructions, each of which was counted.
TEST(FirstScreen, OfWhatWasCountedNamesTheUnitAndHasNoSamplingError) {
  analysis::HandMade hand;
  hand.profile.meta.engine = "import";
  hand.profile.meta.facts["unit"] = "instructions";
  hand.profile.meta.facts["counted"] = "all";
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto app = hand.module("app");
  hand.sample(thread, hand.stack({hand.frame(app, {"main"}), hand.frame(app, {"Shop::serve"})}), 6'000'000);
  hand.sample(thread, hand.stack({hand.frame(app, {"main"})}), 2'000'000);
  const std::string screen = screen_of(hand.profile);
  EXPECT_THAT(screen, HasSubstr("8,000,000 instructions"));
  EXPECT_THAT(screen, HasSubstr("Shop::serve accounts for 75 % of all instructions"));
  EXPECT_THAT(screen, testing::Not(HasSubstr("±")));
  EXPECT_THAT(screen, testing::Not(HasSubstr("CPU time")));
}

// It said that main accounts for 20 % ±29 of CPU time, of five samples, and had a path of them.
TEST(FirstScreen, OfAHandfulOfSamplesDoesNotSayWhoseTheyAre) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto stack = hand.stack({hand.frame(hand.module("app"), {"main"})});
  hand.sample(thread, stack, 5);
  EXPECT_THAT(screen_of(hand.profile),
              HasSubstr("5 samples of CPU time are too few to attribute: record longer or under load."));
  EXPECT_THAT(screen_of(hand.profile), testing::Not(HasSubstr("main")));
  hand.profile.samples.resize(1);
  hand.profile.samples.front().value = 5;
  EXPECT_THAT(screen_of(hand.profile), HasSubstr("5 samples of CPU time are too few")) << "one row of them";
  hand.sample(thread, stack, 15);
  EXPECT_THAT(screen_of(hand.profile), HasSubstr("main accounts for 100 % ±8 of CPU time"));
}

// The report of a running recording called the waits of four idle threads all of the time with work.
TEST(FirstScreen, WaitsThatHaveNotEndedAreNoTimeWithWork) {
  analysis::HandMade hand;
  const auto process = hand.process(1, "app");
  const auto works = hand.thread(process, 1, "app"), blocked = hand.thread(process, 2, "reader");
  const auto main = hand.stack({hand.frame(hand.module("app"), {"main"})});
  hand.wait(works, main, "nanosleep", 0, 2'000, 0);
  hand.profile.threads[works.value].waited_ns = 2'000'000'000;
  hand.profile.threads[works.value].cpu_ns = 8'000'000'000;
  hand.profile.threads[blocked.value].waited_ns = 9'500'000'000;
  hand.profile.quality.truncated = true;
  const std::string screen = screen_of(hand.profile, 200);
  EXPECT_THAT(screen, HasSubstr("Waited 2.00 s ("));
  EXPECT_THAT(screen, HasSubstr("Waits that have not ended take another 9.50 s: what for is not known yet."));
}

// "1.75 s for a stalled write in fill, 948 ms for a stalled write in fill": once it sleeps, and once it waits to be notified.
TEST(FirstScreen, AReasonIsOneHoweverAThreadWaitsForIt) {
  analysis::HandMade hand;
  const auto writer = hand.thread(hand.process(1, "app"), 1, "app");
  const auto app = hand.module("app");
  const auto stack = hand.stack({hand.frame(app, {"main"}), hand.frame(app, {"fill"}),
                                 hand.frame(app, {"rocksdb::DBImpl::DelayWrite(unsigned long)"})});
  hand.wait(writer, stack, "clock_nanosleep", 0, 2'000, 0);
  hand.wait(writer, stack, "futex", 3, 1'000, 0);
  hand.profile.threads[writer.value].waited_ns = 3'000'000'000;
  hand.profile.threads[writer.value].cpu_ns = 7'000'000'000;
  EXPECT_THAT(screen_of(hand.profile, 200), HasSubstr(": 3.00 s for a stalled write (RocksDB, LevelDB) in "));
}

// How one own function came to call the next is the library's business.
TEST(FirstScreen, LeavesOutWhatLiesBetweenOwnFunctions) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto app = hand.module("app"), lib = hand.module("libstdc++.so.6");
  const auto main = hand.frame(app, {"main"}), work = hand.frame(app, {"Shop::serve()"});
  const auto invoke = hand.frame(app, {"std::function<void ()>::operator()() const"});
  const auto copy = hand.frame(lib, {"std::string::_M_assign(std::string const&)"});
  hand.sample(thread, hand.stack({main, invoke, work, copy}), 1000);
  const std::string screen = screen_of(hand.profile);
  EXPECT_THAT(screen, testing::Not(HasSubstr("function::operator()"))) << screen;
  EXPECT_THAT(screen, HasSubstr("└ Shop::serve")) << screen;
  EXPECT_THAT(screen, HasSubstr("└ string::_M_assign")) << screen;
}

// 3,600 of 4,000 samples are in a function of which only the bounds are known, one call below one with a name.
TEST(FirstScreen, NamesTheCallerOfAFunctionWithoutAName) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto app = hand.module("app", model::ModuleKind::kFile, model::SymbolSource::kDynsym);
  const auto main = hand.frame(app, {"main"}), step = hand.frame(app, {"sqlite3_step"});
  const auto outer = hand.frame(app, {"app@0x2000"}), inner = hand.frame(app, {"app@0x16a50"});
  hand.sample(thread, hand.stack({main, step, outer, inner}), 3600);
  hand.sample(thread, hand.stack({main}), 400);
  const std::string screen = screen_of(hand.profile);
  EXPECT_THAT(screen, HasSubstr("\nsqlite3_step accounts for 90 % of CPU time")) << screen;
  EXPECT_THAT(screen, HasSubstr("└ app@0x16a50")) << screen;
  EXPECT_THAT(screen, HasSubstr("of frames without a name")) << screen;
  EXPECT_THAT(screen, HasSubstr("--symbols DIR")) << screen;
}

// Libraries of the program's own stood in the line a second time, and it added up to 180 %.
TEST(FirstScreen, OwnCodeAndModulesAddUpToTheWhole) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto main = hand.frame(hand.module("app"), {"main"});
  hand.sample(thread, hand.stack({main}), 200);
  hand.sample(thread, hand.stack({main, hand.frame(hand.module("libown.so"), {"own_work"})}), 600);
  hand.sample(thread, hand.stack({main, hand.frame(hand.module("libc.so.6"), {"memcpy"})}), 200);
  const std::string screen = screen_of(hand.profile);
  EXPECT_THAT(screen, HasSubstr("\n  own code 80 % · libc 20 %\n")) << screen;
}

TEST(FirstScreen, CutsNoNameThatHasRoom) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto kernel = hand.module("[kernel]", model::ModuleKind::kKernel, model::SymbolSource::kKallsyms);
  const auto main = hand.frame(hand.module("app"), {"main"});
  const auto entry = hand.frame(kernel, {"generic_buffers_fsync_noflush_entry_after_hwframe"});
  hand.sample(thread, hand.stack({main, entry}), 1000);
  EXPECT_THAT(screen_of(hand.profile), HasSubstr("└ generic_buffers_fsync_noflush_entry_after_hwframe"));
}

// The own code stands first, and is not what gives way.
TEST(FirstScreen, LeavesOutTheLastModulesWhereThereIsNoRoom) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto main = hand.frame(hand.module("app"), {"main"});
  hand.sample(thread, hand.stack({main}), 200);
  for (const char* name : {"a", "b", "c", "d"})
    hand.sample(thread,
                hand.stack({main, hand.frame(hand.module("libnss_" + std::string(26, *name)), {name})}), 200);
  const std::string screen = screen_of(hand.profile);
  EXPECT_THAT(screen, HasSubstr("\n  own code 20 % · libnss_")) << screen;
}

TEST(FirstScreen, SaysInItsFirstLineHowTheProgramDied) {
  model::Profile profile = analysis::small_server();
  const auto first_line = [&] {
    const std::string text = screen_of(profile, 0);
    return text.substr(0, text.find('\n'));
  };
  EXPECT_THAT(first_line(), testing::Not(HasSubstr("SIG")));
  profile.meta.facts["signal"] = "11";
  EXPECT_THAT(first_line(), HasSubstr(" · crashed: SIGSEGV"));
  profile.meta.facts["signal"] = "15";
  EXPECT_THAT(first_line(), HasSubstr(" · ended by SIGTERM"));
  profile.meta.facts["signal"] = "9";
  profile.meta.facts["oom_cgroup"] = "/nodes/a";
  profile.meta.facts["oom_limit_bytes"] = "67108864";
  EXPECT_THAT(first_line(), HasSubstr("killed by SIGKILL: out of memory, limit 64.0 MiB of cgroup /nodes/a"));
  profile.meta.facts.erase("oom_limit_bytes");
  EXPECT_THAT(first_line(), HasSubstr("killed by SIGKILL: out of memory, of the machine"));
  profile.meta.facts["signal"] = "many";
  EXPECT_THAT(first_line(), HasSubstr("a process was killed: out of memory"));
}

TEST(FirstScreen, SaysWhereSecondsAreNoTimes) {
  model::Profile profile = analysis::small_server();
  const auto first_line = [&] { return headline_of(analysis::make_report(profile, {}).value()); };
  EXPECT_THAT(first_line(), testing::Not(HasSubstr("times unknown")));
  profile.meta.facts[model::kStepsFact] = "snapshot";
  EXPECT_THAT(first_line(), HasSubstr(" · 10 snapshots, times unknown · "));
}

TEST(FirstScreen, SaysOfEachProgramHowItEnded) {
  model::Profile profile = analysis::small_server();
  const auto first_line = [&] { return headline_of(analysis::make_report(profile, {}).value()); };
  profile.meta.target = "server (pid 12), client (pid 13), cache (pid 14)";
  profile.meta.facts["signal"] = "9";
  profile.meta.facts["ended_pid"] = "13";
  profile.meta.facts["end.12"] = "exit 0";
  profile.meta.facts["end.13"] = "signal 9";
  profile.meta.facts["oom.13"] = "67108864 /nodes/a";
  profile.meta.facts["end.14"] = "signal 11";
  EXPECT_THAT(first_line(),
              HasSubstr(" · process 13 killed by SIGKILL: out of memory, limit 64.0 MiB of cgroup /nodes/a; "
                        "process 14 crashed: SIGSEGV · "));
  profile.meta.facts["oom_cgroup"] = "/nodes/a";
  EXPECT_THAT(first_line(), testing::Not(HasSubstr("a process of its cgroup")));
  profile.meta.facts.erase("oom.13");
  EXPECT_THAT(first_line(), HasSubstr("; a process of its cgroup was killed: out of memory, of the machine"));
}

TEST(FirstScreen, SeparatesAKilledChildFromItsParent) {
  model::Profile profile = analysis::small_server();
  const auto first_line = [&] { return headline_of(analysis::make_report(profile, {}).value()); };
  profile.meta.target = "sh run";
  profile.meta.facts["command_pid"] = "50";
  profile.meta.facts["exit"] = "0";
  profile.meta.facts["end.50"] = "exit 0";
  profile.meta.facts["end.51"] = "signal 15";
  EXPECT_THAT(first_line(), testing::Not(HasSubstr("SIG"))) << "a helper was asked to end";
  profile.meta.facts["end.52"] = "signal 6";
  EXPECT_THAT(first_line(), HasSubstr(" · process 52 crashed: SIGABRT · "));
  profile.meta.facts["end.50"] = "signal 9";
  EXPECT_THAT(first_line(), HasSubstr(" · killed by SIGKILL; process 52 crashed: SIGABRT · "));
}

TEST(FirstScreen, SaysHowAnAttachedProgramEndedAndThatItMayNotBeKnown) {
  model::Profile profile = analysis::small_server();
  const auto first_line = [&] {
    const std::string text = screen_of(profile, 0);
    return text.substr(0, text.find('\n'));
  };
  profile.meta.target = "server (pid 12)";
  profile.meta.facts["ended_pid"] = "12";
  EXPECT_THAT(first_line(), HasSubstr(" · ended; how is unknown"));
  profile.meta.facts["exit"] = "0";
  EXPECT_THAT(first_line(), testing::Not(HasSubstr("ended")));
  profile.meta.facts.erase("exit");
  profile.meta.facts["signal"] = "9";
  EXPECT_THAT(first_line(), HasSubstr(" · killed by SIGKILL"));
  profile.meta.target = "server (pid 12), client (pid 13)";
  EXPECT_THAT(first_line(), HasSubstr(" · process 12 killed by SIGKILL"));
}

// Its first 200 bytes are left of a recording: it said that the program used no CPU time.
TEST(FirstScreen, OfAFileThatEndsAtOnceSaysThatNothingWasKept) {
  model::Profile profile;
  profile.quality.truncated = true;
  EXPECT_THAT(screen_of(profile),
              HasSubstr("The file ends before its first samples, so it is unknown what the program did."));
  EXPECT_THAT(screen_of(profile), testing::Not(HasSubstr("no CPU time")));
  profile.quality.truncated = false;
  EXPECT_THAT(screen_of(profile),
              HasSubstr("Nothing was sampled, and the CPU time of the target is unknown."));
}

TEST(FirstScreen, HasNoWordForOwnCodeThatTookNothing) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto main = hand.frame(hand.module("app"), {"main"});
  hand.sample(thread, hand.stack({main, hand.frame(hand.module("libc.so.6"), {"memcpy"})}), 500);
  const std::string screen = screen_of(hand.profile);
  EXPECT_THAT(screen, testing::Not(HasSubstr("own code"))) << screen;
  EXPECT_THAT(screen, HasSubstr("libc 100 %")) << screen;
}

// Of 3,000 threads none has a hundredth: the tree below each of them was no tree, and there was no path.
TEST(FirstScreen, OfVeryManyThreadsHasOnePath) {
  analysis::HandMade hand;
  const auto process = hand.process(1, "app");
  const auto app = hand.module("app");
  const auto stack = hand.stack({hand.frame(app, {"main"}), hand.frame(app, {"work()"})});
  for (int i = 0; i < 300; ++i)
    hand.sample(hand.thread(process, 10 + i, "thr-" + std::to_string(i)), stack, 10);
  EXPECT_THAT(screen_of(hand.profile), HasSubstr("hot path"));
  EXPECT_THAT(screen_of(hand.profile), HasSubstr("└ work"));
}

TEST(FirstScreen, NamesTheNextOnesToo) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "x"), 1, "x");
  const auto app = hand.module("x");
  hand.sample(thread, hand.stack({hand.frame(app, {"alpha"})}), 600);
  hand.sample(thread, hand.stack({hand.frame(app, {"beta"})}), 350);
  hand.sample(thread, hand.stack({hand.frame(app, {"gamma"})}), 50);
  EXPECT_THAT(
      screen_of(hand.profile),
      HasSubstr("alpha accounts for 60 % ±3 of CPU time, almost all of it in its own instructions; next is"));
  EXPECT_THAT(screen_of(hand.profile), HasSubstr("beta with\n  35 %.\n"));
}

// Bytes and goroutines that another tool has counted are in no instructions.
TEST(FirstScreen, SpeaksOfInstructionsOnlyWhereTheyAreMeant) {
  for (const auto& [unit, words] : {std::pair("instructions", "almost all of it in its own instructions"),
                                    std::pair("Dw Instructions", "almost all of it in its own instructions"),
                                    std::pair("inuse_space(MB)", "almost all of it its own"),
                                    std::pair("goroutines", "almost all of it its own")}) {
    analysis::HandMade hand;
    hand.sample(hand.thread(hand.process(1, "x"), 1, "x"),
                hand.stack({hand.frame(hand.module("x"), {"alpha"})}), 900);
    model::put_facts(model::ImportFacts{.unit = unit, .counts_all = true}, hand.profile.meta);
    std::string screen = screen_of(hand.profile);
    for (std::size_t at; (at = screen.find("\n  ")) != screen.npos;) screen.replace(at, 3, " ");
    EXPECT_THAT(screen, HasSubstr(std::string("alpha accounts for 100 % of all ") + unit + ", " + words));
  }
}

TEST(FirstScreen, NamesTheLibraryWhereNothingIsItsOwn) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "x"), 1, "x");
  hand.sample(thread, hand.stack({hand.frame(hand.module("libc.so.6"), {"memcpy"})}), 500);
  EXPECT_THAT(screen_of(hand.profile),
              HasSubstr("\nmemcpy (copying memory) in libc accounts for 100 % of CPU time"));
}

// The memory of a program that was busy on all CPUs: it was called idle, as its samples were not asked for.
TEST(FirstScreen, OfMemoryAloneDoesNotSayWhatTheProgramDid) {
  analysis::HandMade hand;
  hand.profile.meta.frequency_hz = 0;
  hand.profile.meta.event.clear();
  hand.thread(hand.process(1, "app"), 1, "app", 1'000'000);
  const std::string screen = screen_of(hand.profile);
  EXPECT_THAT(screen, HasSubstr("The recording has neither CPU samples nor waits")) << screen;
  for (const char* untold : {"idle", "thread", "CPUs", "0 samples"})
    EXPECT_THAT(screen, testing::Not(HasSubstr(untold))) << screen;
}

// "... is known (confidence medium: ...) Churn: ..." read as one thought.
TEST(FirstScreen, BeginsALineForEachFindingOnTheHeap) {
  const model::Profile profile = analysis::small_server();
  auto report = analysis::make_report(profile, {});
  ASSERT_TRUE(report);
  report->heap.emplace();
  for (const auto confidence : {analysis::Confidence::kMedium, analysis::Confidence::kHigh}) {
    analysis::HeapVerdict verdict;
    verdict.confidence = confidence;
    verdict.facts.seconds = 3;
    verdict.facts.slices = 3;
    report->heap->verdicts.push_back(verdict);
  }
  const std::string screen =
      report_text(*report, {.layout = Layout::kFirstScreen, .file = "x.fathom", .width = 100});
  EXPECT_THAT(screen, HasSubstr("(confidence medium)\n3.00 s in 3 slices of time")) << screen;
}

// xz started by bash: its work is done by threads that liblzma started, and head's reading was the first sentence.
TEST(FirstScreen, NamesOtherCodeWhereThatTakesMost) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "x"), 1, "x");
  const auto lib = hand.module("libworker.so.6");
  hand.profile.modules[lib.value].path = hand.builder.string("/usr/lib/libworker.so.6");
  hand.sample(thread, hand.stack({hand.frame(lib, {"worker_start"}), hand.frame(lib, {"find_match"})}), 900);
  hand.sample(thread, hand.stack({hand.frame(hand.module("x"), {"feed"})}), 20);
  hand.sample(thread, hand.stack({hand.frame(hand.module("libc.so.6"), {"memcpy"})}), 80);
  std::string screen = screen_of(hand.profile, 0);
  EXPECT_THAT(
      screen,
      HasSubstr("\nfind_match in libworker accounts for 90 % of CPU time, almost all of it in its own "
                "instructions.\n"))
      << screen;
  EXPECT_THAT(screen, testing::Not(HasSubstr("feed accounts"))) << screen;
  hand.sample(thread, hand.stack({hand.frame(hand.module("x"), {"feed"})}), 200);
  screen = screen_of(hand.profile, 0);
  EXPECT_THAT(screen, HasSubstr("find_match in libworker accounts for 75 %")) << screen;
  EXPECT_THAT(screen, HasSubstr("; next is feed with 18 %.")) << screen;
}

TEST(FirstScreen, ShowsWhereTheNamesOfAStrippedLibraryAre) {
  const auto screen_with = [](int nameless) {
    analysis::HandMade hand;
    const auto thread = hand.thread(hand.process(1, "x"), 1, "x");
    const auto lib = hand.module("liblzma.so.5");
    hand.profile.modules[lib.value].path = hand.builder.string("/usr/lib/liblzma.so.5");
    const auto entry = hand.frame(lib, {"lzma_code"});
    hand.sample(thread, hand.stack({entry, hand.frame(lib, {"liblzma.so.5@0x100"})}), nameless / 2);
    hand.sample(thread, hand.stack({entry, hand.frame(lib, {"liblzma.so.5@0x200"})}), nameless / 2);
    hand.sample(thread, hand.stack({entry}), 100 - nameless);
    return screen_of(hand.profile, 0);
  };
  EXPECT_THAT(screen_with(30),
              HasSubstr(". liblzma is stripped: its debug file has the names (--symbols DIR)."));
  EXPECT_THAT(screen_with(20), testing::Not(HasSubstr("is stripped")));
}

TEST(FirstScreen, NamesTheLargestOfManySmallParts) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "x"), 1, "x");
  const auto app = hand.module("x");
  const auto parse = hand.frame(app, {"parse_all"});
  for (int i = 0; i < 20; ++i)
    hand.sample(thread, hand.stack({parse, hand.frame(app, {"part_" + std::to_string(i)})}),
                i == 7 ? 80 : 50);
  EXPECT_THAT(screen_of(hand.profile, 0),
              HasSubstr(", spread over many calls; the largest part is 7.8 % in part_7."));
}

TEST(FirstScreen, CountsTheProcessesThatTheThreadsAreIn) {
  analysis::HandMade hand;
  const auto stack = hand.stack({hand.frame(hand.module("x"), {"work"})});
  const auto first = hand.process(1, "x");
  hand.sample(hand.thread(first, 1, "x"), stack, 100);
  EXPECT_THAT(screen_of(hand.profile, 0), HasSubstr(" 1 thread, "));
  hand.sample(hand.thread(first, 2, "x"), stack, 100);
  hand.sample(hand.thread(hand.process(3, "x"), 3, "x"), stack, 100);
  EXPECT_THAT(screen_of(hand.profile, 0), HasSubstr(" 3 threads in 2 processes, "));
  hand.profile.meta.target = "x (pid 1) and 1 child process";
  EXPECT_THAT(screen_of(hand.profile, 0), HasSubstr(" 3 threads, "));
}

TEST(FirstScreen, CountsTheThreadsAndProcessesBehindRowsThatManyShare) {
  analysis::HandMade hand;
  const auto stack = hand.stack({hand.frame(hand.module("x"), {"work"})});
  hand.sample(hand.thread(hand.process(1, "x"), 1, "x"), stack, 100);
  hand.sample(hand.thread(hand.process(0, "x (1,750 processes)"), 0, "x"), stack, 100);
  EXPECT_THAT(screen_of(hand.profile, 0), HasSubstr(" 1 thread and more in 1,751 processes, "));
  hand.profile.meta.facts["ended_threads"] = "2001";
  hand.profile.meta.facts["exit"] = "0";
  EXPECT_THAT(screen_of(hand.profile, 0), HasSubstr(" 2,001 threads in 1,751 processes, "));
}

// The module is all that is known.
TEST(FirstScreen, NamesTheFileWhereNoFunctionHasAName) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "x"), 1, "x");
  const auto app = hand.module("x", model::ModuleKind::kFile, model::SymbolSource::kNone);
  hand.sample(thread, hand.stack({hand.unnamed(app, 0x100), hand.unnamed(app, 0x200)}), 500);
  const std::string screen = screen_of(hand.profile, 0);
  EXPECT_THAT(screen, HasSubstr("\n100 % of CPU time is in x, which is stripped: without its debug file"))
      << screen;
  // sha256sum: the little that it reads has a name.
  const auto read = hand.frame(hand.module("libc.so.6"), {"fread_unlocked"});
  hand.sample(thread, hand.stack({hand.unnamed(app, 0x300), read}), 100);
  EXPECT_THAT(screen_of(hand.profile, 0), HasSubstr("\n83 % of CPU time is in x, which is stripped"));
  EXPECT_THAT(screen_of(hand.profile, 0),
              HasSubstr("The largest function with a name is fread_unlocked in libc with 17 %."));
}

// john: 58 % of its time was in its own code, and GOMP_parallel, which calls a part of that, was the subject with 37 %.
TEST(FirstScreen, NamesTheFileBeforeTheRuntimeThatCallsItsCode) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(1, "x"), 1, "x");
  const auto app = hand.module("x", model::ModuleKind::kFile, model::SymbolSource::kNone);
  const auto libgomp = hand.module("libgomp.so.1"), libc = hand.module("libc.so.6");
  const auto loop = hand.unnamed(app, 0x100);
  hand.sample(thread, hand.stack({hand.frame(libgomp, {"GOMP_parallel"}), loop}), 370);
  hand.sample(thread, hand.stack({hand.frame(libc, {"start_thread"}), hand.unnamed(libgomp, 0x10), loop}),
              210);
  hand.sample(thread, hand.stack({hand.frame(libc, {"start_thread"}), hand.unnamed(libgomp, 0x10)}), 420);
  EXPECT_THAT(screen_of(hand.profile, 0), HasSubstr("\n58 % of CPU time is in x, which is stripped"));
  analysis::HandMade number;
  const auto awk = number.thread(number.process(1, "x"), 1, "x");
  const auto program = number.module("x", model::ModuleKind::kFile, model::SymbolSource::kNone);
  const auto field = number.unnamed(program, 0x100);
  number.sample(awk, number.stack({field, number.frame(number.module("libc.so.6"), {"strtod"})}), 370);
  number.sample(awk, number.stack({field}), 630);
  EXPECT_THAT(screen_of(number.profile, 0), HasSubstr("\n63 % of CPU time is in x, which is stripped"));
  EXPECT_THAT(screen_of(number.profile, 0),
              HasSubstr("The largest function with a name is strtod in libc with 37 %."));
}

TEST(FirstScreen, FitsTheScreenWithAnyContent) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::string text = screen_of(model::random_profile(seed));
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40) << seed << "\n" << text;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::string_view line = std::string_view(text).substr(at, end - at);
      // A word that is longer than the terminal cannot be filled into it, and numbers of random heaps are long.
      const bool may_be_long =
          line.find("iB  ") != line.npos || line.find("at peak") != line.npos || line.size() > 180;
      if (line.find(' ', 8) != line.npos && !may_be_long) {
        EXPECT_LE(display_width(line), 100u) << seed << line;
      }
      at = end + 1;
    }
  }
}

}  // namespace
}  // namespace fathom::present
