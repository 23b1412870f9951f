// Stacks that reach the start of their thread: on purpose-made hard cases, and on real, optimised programs
// from Debian.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/anvil.h"
#include "support/cut_stacks.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using std::chrono::milliseconds;

// Two ends are left out of the 99.9 % and bounded by themselves, as programs have a few of them when they start and end: a
// thread that exits has given its memory back, and the first samples of a program come before its mappings (three of 2,911
// in a run of Node on a busy machine).
const std::vector<std::string> kAtStartAndEnd{"stack memory that could not be read",
                                              "sampled before the mappings were known"};

void expect_complete(const std::string& recording, double samples_at_least, double percent = 99.9) {
  const Report report(recording);
  EXPECT_GE(report.samples(), samples_at_least);
  EXPECT_GE(report.complete_percent_without(kAtStartAndEnd), percent) << cut_stacks(recording);
  EXPECT_GE(report.complete_percent(), 99) << cut_stacks(recording);
  std::printf("  %.0f samples, %.3f %% complete, %.3f %% without starts and ends\n", report.samples(),
              report.complete_percent(), report.complete_percent_without(kAtStartAndEnd));
}

TEST(Completeness, StacksZoo) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome outcome = fathom({"record", "-o", folder / "x.fathom", "--", STACKS_ZOO, "8"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  // Every fifty milliseconds a program, a process or a library begins and ends here: some of their first
  // samples come before their mappings. Programs that run for long have the bar of 99.9 %.
  expect_complete(folder / "x.fathom", 200, 99.5);
  const Report report(folder / "x.fathom");
  for (const auto& [scene, played] : answer_of(outcome)) EXPECT_GT(played, 1) << scene;
  for (const char* name :
       {"zoo_alloca", "zoo_aligned", "zoo_aligned_alloca", "zoo_huge", "zoo_recursion",
        "zoo_leaf_without_cfi", "zoo_framed_without_cfi", "zoo_signal_handler", "zoo_alternate_handler",
        "zoo_interrupted", "zoo_plt_caller", "zoo_plugin_burn", "zoo_libc_strings", "zoo_vdso",
        "zoo_jit_loop", "zoo_called_by_jit", "zoo_short_thread", "zoo_forked_child", "zoo_executed_child"}) {
    EXPECT_GT(report.total_percent(name), 0) << name;
  }
  // A handler's stack goes on below the frame of the signal, to where the thread was interrupted.
  EXPECT_GT(report.total_percent("zoo::scene_signal(std::chrono::time_point<std::chrono::_V2::steady_clock, "
                                 "std::chrono::duration<long, std::ratio<1l, 1000000000l> > >)"),
            report.total_percent("zoo_signal_handler"));
  EXPECT_TRUE(report.has_thread("zoo-first"));
  EXPECT_TRUE(report.has_thread("zoo-second"));
  EXPECT_TRUE(report.has_thread("zoo-short"));
}

// One CPU for all, and a recorder that stands still two thirds of the time: it hears of mappings long after their code has
// run. Stacks wait for them.
TEST(Completeness, SamplesThatComeLongBeforeTheirMappings) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const std::string recording = folder / "x.fathom";
  std::vector<std::string> command{"taskset", "-c", "0"};
  const auto record = fathom_command({"record", "-o", recording, "--", "sh", "-c",
                                      "for i in 1 2 3 4 5 6 7 8; do ls -lR /usr/include | sort -k5 | "
                                      "sha256sum; perl -e 'use POSIX; use Socket; use List::Util; 1'; done"});
  command.insert(command.end(), record.begin(), record.end());
  Running load({"taskset", "-c", "0", "sh", "-c", "while :; do :; done"});
  Running recorder(command);
  std::error_code ignored;
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(recording, ignored); }, milliseconds(20'000)));
  for (int round = 0; round < 300 && !recorder.finished(); ++round) {
    recorder.send(SIGSTOP);  // not while the programs are loaded: a signal makes the kernel give up on them
    pause_ms(100);
    recorder.send(SIGCONT);
    pause_ms(50);
  }
  recorder.send(SIGCONT);
  const Outcome outcome = recorder.wait(milliseconds(60'000));
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const Report report(recording);
  const double early = report.ended_early("an address outside all known mappings") +
                       report.ended_early("sampled before the mappings were known");
  EXPECT_GE(report.samples(), 300);
  EXPECT_LE(early, 0.01 * report.samples()) << cut_stacks(recording);
  std::printf("  %.0f samples, %.0f before their mappings\n", report.samples(), early);
}

// Linked statically, without symbols and without call frame information, C library and all.
TEST(Completeness, ProgramWithNothingButItsCode) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome outcome = fathom({"record", "-o", folder / "x.fathom", "--", BARE_THREADS, "3"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  expect_complete(folder / "x.fathom", 200, 99);
}

TEST(Completeness, RedisUnderLoad) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const auto server_path = find_redis_server(folder.path());
  if (!server_path) GTEST_SKIP() << "needs redis-tools, which is not installed";
  FATHOM_NEEDS_PROGRAM("redis-benchmark");
  const std::string socket = folder / "redis.sock";
  const Running server(
      {*server_path, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no"},
      {.folder = folder.path()});
  ASSERT_TRUE(wait_until([&] { return access(socket.c_str(), F_OK) == 0; }, milliseconds(30'000)));
  const Running load({"redis-benchmark", "-s", socket, "-t", "set,get", "-n", "100000000", "-c", "20", "-q"});
  Running recorder = start_recording(folder / "x.fathom", {"-p", std::to_string(server.pid())});
  // By its own time: on a busy machine five seconds of the clock may hold a tenth of that.
  const double begin_s = cpu_seconds_of(server.pid());
  EXPECT_TRUE(wait_until([&] { return cpu_seconds_of(server.pid()) - begin_s >= 1; }, milliseconds(60'000)));
  recorder.send(SIGINT);
  const Outcome outcome = recorder.wait(milliseconds(60'000));
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  expect_complete(folder / "x.fathom", 200);
}

// C++ code that keeps the compiler busy for some seconds, as big.cpp in `folder`.
void write_source(const TempDir& folder) {
  std::ofstream source(folder / "big.cpp");
  source << "#include <algorithm>\n#include <map>\n#include <regex>\n#include <string>\n";
  for (int i = 0; i < 20; ++i) {
    source << "struct Key" << i << " { int value; bool operator<(const Key" << i
           << "& other) const { return value < other.value; } };\n"
           << "std::map<Key" << i << ", std::string> table" << i << ";\n"
           << "bool find" << i << "(const std::string& text) { table" << i << "[{" << i
           << "}] = text; return std::regex_search(text, std::regex(\"a" << i << "+b\")); }\n";
  }
}

// Its garbage collector is kept from running: it marks recursively, many thousand frames deep, and 1023 are
// kept.
const std::string kNoCollection = "ggc-min-heapsize=1048576";

TEST(Completeness, TheCompiler) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_PROGRAM("g++");
  const TempDir folder;
  write_source(folder);
  ASSERT_TRUE(run({"g++", "-E", "big.cpp", "-o", "big.ii"}, {.folder = folder.path()}).ok());
  std::string compiler = run({"g++", "-print-prog-name=cc1plus"}).output;
  compiler.erase(compiler.find_last_not_of('\n') + 1);
  const Outcome outcome = fathom({"record", "-o", folder / "x.fathom", "--", compiler, "-quiet",
                                  "-fpreprocessed", "-O2", "--param", kNoCollection, "big.ii", "-o", "big.s"},
                                 {.folder = folder.path()});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  expect_complete(folder / "x.fathom", 1000);
}

// A program that another one starts is sampled without stacks until its tables are made: 20 to 40 ms for a
// compiler, and twice that on a machine that is slow at the moment. All else is as complete as ever.
TEST(Completeness, AProgramThatStartsOthers) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_PROGRAM("g++");
  const TempDir folder;
  write_source(folder);
  const Outcome outcome = fathom({"record", "-o", folder / "x.fathom", "--", "g++", "-O2", "--param",
                                  kNoCollection, "-c", "big.cpp", "-o", "big.o"},
                                 {.folder = folder.path()});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const Report report(folder / "x.fathom");
  EXPECT_GE(report.complete_percent(), 97) << report.quality();
  EXPECT_GE(report.complete_percent_without({"sampled before the mappings were known"}), 99.5)
      << report.quality();
  EXPECT_TRUE(report.has_thread("cc1plus"));
  EXPECT_TRUE(report.has_thread("as"));
}

// Rust: frames of many kilobytes, parked workers, a virtual machine inside.
TEST(Completeness, ARustNodeUnderLoad) {
  FATHOM_NEEDS_BPF();
  const auto program = find_anvil();
  if (!program) GTEST_SKIP() << "needs anvil, in PATH or named by ANVIL";
  const TempDir folder;
  const Anvil node(*program, 18546);
  Running recorder = start_recording(folder / "x.fathom", {"-p", std::to_string(node.pid())});
  node.load(4);
  recorder.send(SIGINT);
  const Outcome outcome = recorder.wait(milliseconds(60'000));
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  expect_complete(folder / "x.fathom", 200);
}

// Code made by a just-in-time compiler, which can be passed by its frame pointers only.
TEST(Completeness, Node) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_PROGRAM("node");
  const TempDir folder;
  const Outcome outcome =
      fathom({"record", "-o", folder / "x.fathom", "--", "node", "-e",
              "const seen = new Map(); const used = () => process.cpuUsage().user; let i = 0;"
              "while (used() < 2e6) { const s = JSON.stringify({a: i++ % 5000, b: [1, 2, 3]});"
              "seen.set(s, (seen.get(s) || 0) + JSON.parse(s).b.length); }"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  expect_complete(folder / "x.fathom", 200);
}

}  // namespace
}  // namespace fathom::support
