// fathom report, run on files.
#include "cli/testing_program.h"

namespace fathom::cli {
namespace {

TEST_F(Cli, ReportIsTheAnswerInOneScreen) {
  const Outcome outcome = run({"report", recording_});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.out, StartsWith("hand (pid 10) · 10.00 s · 2 threads, 0.91 of 2 CPUs · 900 samples"));
  EXPECT_THAT(
      outcome.out,
      HasSubstr("Node::walk accounts for 33 % ±3 of CPU time, almost all of it in its own instructions"));
  EXPECT_THAT(outcome.out, HasSubstr("next: fathom flamegraph " + recording_));
  EXPECT_LE(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 40);
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b"))) << "no colours in a file";
}

TEST_F(Cli, ReportSaysEverythingWhenAsked) {
  const Outcome outcome = run({"report", recording_, "--all"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, StartsWith("hand (pid 10): 900 CPU samples in 10.00 s"));
  EXPECT_THAT(outcome.out, HasSubstr("\nFunctions by self"));
  EXPECT_THAT(outcome.out, HasSubstr("\nOver time"));
}

// They have no stacks, but report what is live and what is free.
TEST_F(Cli, ReportReadsWhatAnAllocatorPrintsOfItself) {
  const std::string path = folder_ + "/stats.txt";
  std::ofstream(path)
      << "___ Begin jemalloc statistics ___\nVersion: \"5.3.0\"\nAllocated: 4194304, active: 8388608, "
         "metadata: 1048576 (n_thp 0), resident: 9437184, mapped: 1, retained: 0\n"
         "--- End jemalloc statistics ---\n";
  const Outcome text = run({"report", path});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, StartsWith("jemalloc 5.3.0\n\nThe program has 4.0 MiB of 9.0 MiB"));
  EXPECT_THAT(run({"report", path, "--json"}).out, HasSubstr("\"allocated_bytes\": 4194304"));
  const Outcome picture = run({"flamegraph", path, "-o", "-"});
  EXPECT_NE(picture.status, 0);
  EXPECT_THAT(picture.error, HasSubstr("try: fathom report " + path));
}

// A reader of a picture wants to know what taking it cost the machine.
TEST_F(Cli, EveryOutputSaysWhatRecordingCost) {
  const std::string cost = "fathom used 120 ms of CPU time (1.2 % of a core)";
  EXPECT_THAT(run({"report", recording_}).out, HasSubstr(cost));
  EXPECT_THAT(run({"flamegraph", recording_, "-o", "-"}).out, HasSubstr(cost));
}

// The answer to a question does not begin behind two screens of other tables.
TEST_F(Cli, ATableThatIsAskedForStandsFirst) {
  for (const auto& [option, heading] :
       std::vector<std::pair<std::string, std::string>>{{"--threads", "Threads"},
                                                        {"--modules", "Modules"},
                                                        {"--series", "Over time"},
                                                        {"--tree", "Call tree"},
                                                        {"--by=module", "Modules by self"},
                                                        {"--lines", "Lines by self"},
                                                        {"--tree=callers", "Calls bottom up"},
                                                        {"--top", "Functions by self"}}) {
    std::vector<std::string> arguments{"report", recording_, option};
    if (option == "--top") arguments.push_back("3");
    const std::string out = run(arguments).out;
    EXPECT_THAT(out, testing::MatchesRegex("hand \\(pid 10\\)[^\n]*\n\n" + heading + "(.|\n)*")) << option;
    EXPECT_THAT(out, HasSubstr("\nQuality: 900 samples, 3 lost")) << option;
  }
}

TEST_F(Cli, ANumberOfRowsBelowZeroIsRefused) {
  for (const char* command : {"report", "leaks"}) {
    const Outcome outcome = run({command, recording_, "--top", "-1"});
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_THAT(outcome.error, HasSubstr("expected a number of 0 or more")) << command;
  }
}

TEST_F(Cli, ReportTakesItsOptions) {
  EXPECT_THAT(
      run({"report", recording_, "--all", "--threads", "--modules", "--sort", "total", "--top", "2"}).out,
      testing::AllOf(HasSubstr("Threads"), HasSubstr("Modules"), HasSubstr("Functions by total, 2 of")));
  EXPECT_THAT(run({"report", recording_, "--callers", "ksys_write", "--callees", "main"}).out,
              testing::AllOf(HasSubstr("Callers of ksys_write"), HasSubstr("Callees of main")));
  EXPECT_THAT(run({"report", recording_, "--thread", "worker-1"}).out, HasSubstr("leaves out 700 samples"));
  EXPECT_THAT(run({"report", recording_, "--from", "7", "--to", "8"}).out,
              HasSubstr("1.00 s · 2 threads, 1.00 of 2 CPUs · 100 samples"));
  EXPECT_THAT(run({"report", recording_, "--all", "--wide"}).out,
              HasSubstr("Worker::run(std::sync::Arc<server::pool::Queue>, bool)"));
}

TEST_F(Cli, FocusAndIgnoreTakeStacksEverywhere) {
  const std::string report = run({"report", recording_, "--focus", "main", "--ignore", "/walk|write/"}).out;
  EXPECT_THAT(report, HasSubstr("Stacks with main, without /walk|write/: 33 % of 900\n  samples.\n"));
  EXPECT_THAT(run({"export", recording_, "--to", "folded", "--focus", "ksys_write"}).out,
              testing::Eq("server;__libc_start_main;main;write;ksys_write_[k] 100\n"));
  EXPECT_THAT(run({"flamegraph", recording_, "-o", "-", "--focus", "ksys_write"}).out,
              HasSubstr("Stacks with ksys_write: 11 % of 900 samples."));
  const Outcome nowhere = run({"report", recording_, "--focus", "nobody"});
  EXPECT_EQ(nowhere.status, 3);
  EXPECT_THAT(nowhere.error, HasSubstr("no function is called 'nobody'\ntry: "));
}

TEST_F(Cli, HideAndShowFromCutTreesAndTables) {
  const std::string report = run({"report", recording_, "--hide", "walk", "--top", "0", "--wide"}).out;
  EXPECT_THAT(report, HasSubstr("Shown without calls of walk; sentences cover whole stacks."));
  EXPECT_THAT(report, testing::Not(HasSubstr("Visit>::walk")));
  const std::string svg =
      run({"flamegraph", recording_, "-o", "-", "--show-from", "write", "--hide", "crate:alloc"}).out;
  EXPECT_THAT(svg, HasSubstr("ksys_write"));
  EXPECT_THAT(svg, testing::Not(HasSubstr("__libc_start_main"))) << "in the script's data neither";
  EXPECT_THAT(
      svg,
      HasSubstr(
          "Shown without calls of crate:alloc, from write; sentences cover whole stacks. Stacks with write: 11 %"));
  const std::string json = run({"report", recording_, "--show-from", "/^main$/", "--json"}).out;
  EXPECT_THAT(json, HasSubstr("\"show_from\""));
  EXPECT_THAT(json, testing::Not(HasSubstr("__libc_start_main")));
  const Outcome nowhere = run({"report", recording_, "--hide", "module:nowhere"});
  EXPECT_EQ(nowhere.status, 3);
  EXPECT_THAT(nowhere.error, HasSubstr("nothing matches '"));
}

// Names in a pipe are searched by programs and by people: none is cut, unless COLUMNS says how wide the reader is.
TEST_F(Cli, ATreeInAPipeHasWholeNames) {
  EXPECT_THAT(run({"report", recording_, "--tree", "--wide"}).out,
              HasSubstr("server::pool::Worker::run(std::sync::Arc<server::pool::Queue>, bool)"));
  EXPECT_THAT(run({"report", recording_, "--tree"}).out, HasSubstr("└ Worker::run "));
  EXPECT_THAT(run({"report", recording_, "--top", "20", "-o", folder_ + "/x.txt"}).status, 0);
  EXPECT_THAT(read_file(folder_ + "/x.txt").value(),
              HasSubstr("server::pool::Worker::run(std::sync::Arc<server::pool::Queue>, bool)"));
}

TEST_F(Cli, ReportWritesJsonToAFile) {
  const std::string path = folder_ + "/report.json";
  EXPECT_EQ(run({"report", recording_, "--json", "-o", path}).status, 0);
  EXPECT_THAT(read_file(path).value(), StartsWith("{\n  \"format_version\": 1"));
}

}  // namespace
}  // namespace fathom::cli
