// The commands that turn files into others or judge them: export, merge, leaks, oom, and files of other tools.
#include "analysis/heap/hand_made_heap.h"
#include "cli/testing_program.h"

namespace fathom::cli {
namespace {

TEST_F(Cli, ExportsAreReadAgain) {
  for (const char* ending : {".pb.gz", ".pb", ".speedscope.json", ".firefox.json.gz"}) {
    const std::string written = folder_ + "/x" + ending;
    const Outcome outcome = run({"export", recording_, "-o", written});
    EXPECT_EQ(outcome.status, 0) << ending << outcome.error;
    const std::string folded = run({"export", written, "--to", "folded"}).out;
    EXPECT_THAT(folded, HasSubstr("__libc_start_main;main;write;ksys_write")) << ending;
  }
  EXPECT_THAT(read_file(folder_ + "/x.pb.gz").value(), StartsWith("\x1f\x8b"));
  EXPECT_THAT(read_file(folder_ + "/x.pb").value(), Not(StartsWith("\x1f\x8b")));
  EXPECT_THAT(run({"export", recording_, "--to", "pprof"}).out, StartsWith("\x1f\x8b"));
}

TEST_F(Cli, SeveralRecordingsBecomeOne) {
  model::Profile later = analysis::small_server();
  later.samples.resize(500);
  const std::string second = folder_ + "/second.fathom", all = folder_ + "/all.fathom";
  ASSERT_TRUE(store::Writer::create(second).value().finish(later));
  const Outcome outcome = run({"merge", all, recording_, second});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(run({"report", all, "--all"}).out, HasSubstr("1,400 CPU samples"));
  EXPECT_EQ(run({"merge", all, recording_, second}).status, 2) << "it is there";
  EXPECT_EQ(run({"merge", all, recording_, second, "--force"}).status, 0);
  const std::string copy = file("copy.fathom", read_file(recording_).value());
  const Outcome twice = run({"merge", folder_ + "/twice", recording_, copy});
  EXPECT_EQ(twice.status, 2);
  EXPECT_THAT(twice.error, HasSubstr("are the same recording, which would count twice"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/twice"));
}

// Dumps of two processes, an hour old each; a name or a beginning alone is no dump.
TEST_F(Cli, CleanRemovesHeapDumpsAndKeepsTheNewestOfEachProcess) {
  namespace fs = std::filesystem;
  const fs::path dumps = fs::path(folder_) / "dumps";
  fs::create_directory(dumps);
  const auto dump = [&](const std::string& name, const std::string& text, int hours) {
    file("dumps/" + name, text);
    fs::last_write_time(dumps / name, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  const std::string text = "heap_v2/524288\n  t*: 0: 0 [0: 0]\n";
  dump("jeprof.7.0.i0.heap", text, 3);
  dump("jeprof.7.1.i1.heap", text, 2);
  dump("jeprof.8.0.f.heap", text, 4);
  dump("jeprof.9.0.i0.heap", "notes of the user", 9);
  dump("notes.heap", text, 9);
  dump("jeprof.7.2.i2.heap", text, 0);
  const auto clean = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"clean", dumps.string(), "--kind", "dumps", "--older", "1h"});
    return run(more);
  };
  EXPECT_THAT(clean({"--keep", "1", "--dry-run"}).out, HasSubstr("would remove 2 heap dumps"));
  const Outcome outcome = clean({"--keep", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("removed 2 heap dumps"));
  for (const char* stays : {"jeprof.8.0.f.heap", "jeprof.9.0.i0.heap", "notes.heap", "jeprof.7.2.i2.heap"})
    EXPECT_TRUE(fs::exists(dumps / stays)) << stays;
  EXPECT_FALSE(fs::exists(dumps / "jeprof.7.1.i1.heap"));
  EXPECT_EQ(run({"clean", dumps.string(), "--kind", "pictures", "--older", "1h"}).status, 2);
}

TEST_F(Cli, LeaksEndWithAStatusForScripts) {
  const std::string heap = folder_ + "/heap.fathom";
  ASSERT_TRUE(store::Writer::create(heap).value().finish(analysis::small_heap().profile));
  const Outcome some = run({"leaks", heap});
  EXPECT_EQ(some.status, 5);
  EXPECT_EQ(some.error, "");
  EXPECT_THAT(some.out, HasSubstr("    #0  server::Cache::put(int) (server)\n"));
  EXPECT_EQ(run({"leaks", heap, "--no-fail"}).status, 0);
  EXPECT_EQ(run({"leaks", heap, "--min-bytes", "1k", "--json"}).status, 5);
  EXPECT_EQ(run({"leaks", heap, "--min-bytes", "1m"}).status, 0);

  const std::string known = file("known.supp", "# ours\nleak:strdup\nleak:^server::Cache::*\n");
  const std::string more = file("more.supp", "leak:server::request\n");
  const Outcome none = run({"leaks", heap, "--suppressions", known, "--suppressions", more});
  EXPECT_EQ(none.status, 0);
  EXPECT_THAT(none.out, HasSubstr("known.supp:3\n"));
  const Outcome wrong = run({"leaks", heap, "--suppressions", file("bad.supp", "leak:a\nthread:b\n")});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.error, HasSubstr("bad.supp:2: there is no kind 'thread' here\ntry: "));
  EXPECT_EQ(run({"leaks", recording_}).status, 3);
}

TEST_F(Cli, ExportWritesFoldedStacksThatReportReadsAgain) {
  const Outcome folded = run({"export", recording_, "--to", "folded"});
  EXPECT_EQ(folded.status, 0);
  EXPECT_THAT(folded.out, HasSubstr("server;__libc_start_main;main;write;ksys_write_[k] 100\n"));
  EXPECT_THAT(run({"report", file("stacks", folded.out)}).out, StartsWith("stacks · "));
}

TEST_F(Cli, ExportChoosesTheFormatByTheEnding) {
  const std::string path = folder_ + "/x.folded";
  EXPECT_EQ(run({"export", recording_, "-o", path}).status, 0);
  EXPECT_THAT(read_file(path).value(), HasSubstr("ksys_write_[k] 100"));
  EXPECT_EQ(run({"export", recording_, "-o", folder_ + "/x.y"}).status, 2);
}

TEST_F(Cli, ADashIsStandardInput) {
  EXPECT_THAT(run({"report", "-"}, file("in", "a;b 5\n")).out, StartsWith("standard input · "));
  EXPECT_THAT(run({"report", "-"}, recording_).out, StartsWith("hand (pid 10)"));
}

TEST_F(Cli, RecordingsAreListedAndRemovedByARule) {
  std::filesystem::copy_file(recording_, folder_ + "/newer.fathom");
  std::ofstream(folder_ + "/newer.svg") << "<svg>drawn by hand</svg>";
  ASSERT_EQ(run({"flamegraph", recording_, "-o", folder_ + "/server.svg"}).status, 0);
  EXPECT_THAT(run({"list", folder_}).out, HasSubstr("2 recordings, "));
  EXPECT_THAT(run({"list", folder_, "--json"}).out, HasSubstr("\"file\": \"" + recording_ + "\""));

  const Outcome no_rule = run({"clean", folder_});
  EXPECT_EQ(no_rule.status, 2);
  EXPECT_THAT(no_rule.error, HasSubstr("--older"));
  EXPECT_THAT(run({"clean", folder_, "--max-size", "0", "--dry-run"}).out,
              HasSubstr("would remove 2 recordings"));
  EXPECT_TRUE(std::filesystem::exists(recording_));
  EXPECT_THAT(run({"clean", folder_, "--max-size", "0"}).out, HasSubstr("removed 2 recordings"));
  EXPECT_FALSE(std::filesystem::exists(recording_));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/server.svg"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/newer.svg")) << "it is the user's own";
  EXPECT_EQ(run({"list", folder_}).out, "no recordings\n");
  EXPECT_EQ(run({"list", folder_ + "/none"}).status, 3);
}

// As after a power failure. The others are read, and what is missing is said; with none left it is an error.
TEST_F(Cli, ADamagedWindowOfAStoreCostsItself) {
  const std::string target = folder_ + "/store/server/", content = read_file(recording_).value();
  std::filesystem::create_directories(target);
  const std::string good = "store/server/20261127T085700.020Z-60.040s.fathom",
                    bad = "store/server/20261127T085800.060Z-60.000s.fathom";
  file(good, content);
  for (const std::string_view damage :
       {std::string_view(), std::string_view("junk"), std::string_view(content).substr(0, 12)}) {
    file(bad, damage);
    const Outcome outcome = run({"report", folder_ + "/store", "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.error, HasSubstr("1 of 2 windows cannot be read, and their time is missing: "));
    EXPECT_THAT(outcome.out, HasSubstr("1 of 2 windows cannot be read"));
  }
  std::filesystem::remove(folder_ + "/" + good);
  EXPECT_EQ(run({"report", folder_ + "/store"}).status, 1);
}

TEST_F(Cli, OomReadsALogOfTheKernel) {
  const std::string log = file("log",
                               "[ 7.5] Out of memory: Killed process 46653 (reth) total-vm:8000kB, "
                               "anon-rss:4096kB, file-rss:0kB, shmem-rss:0kB\n");
  const Outcome text = run({"oom", log});
  EXPECT_EQ(text.status, 0) << text.error;
  EXPECT_THAT(text.out, StartsWith("reth (pid 46653) was killed: 7.5 s after boot"));
  EXPECT_EQ(run({"oom", "-"}, log).out, text.out);
  EXPECT_THAT(run({"oom", "--json", log}).out, HasSubstr("\"anon_bytes\": 4194304"));
  EXPECT_EQ(run({"oom", "--record", "2", log}).status, 3);

  const Outcome none = run({"oom", file("empty", "[ 1.0] all is well\n")});
  EXPECT_EQ(none.status, 3);
  EXPECT_THAT(none.error, HasSubstr("no record of a process killed for lack of memory"));
  EXPECT_THAT(none.error, HasSubstr("try: journalctl -b -1"));
}

// Sentences about recordings or jemalloc dumps do not appear for data that another tool's file lacks.
TEST_F(Cli, FilesOfOtherToolsAreNotSpokenOfAsRecordings) {
  const std::string massif = file("massif.out.7", R"(desc: (none)
cmd: ./book 1 2
time_unit: ms
#-----------
snapshot=0
#-----------
time=100
mem_heap_B=3000
mem_heap_extra_B=8
mem_stacks_B=0
heap_tree=peak
n1: 3000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n1: 3000 0x401000: keep (book.c:12)
  n0: 3000 0x402000: main (book.c:30)
)");
  const Outcome report = run({"report", massif});
  EXPECT_EQ(report.status, 0) << report.error;
  EXPECT_THAT(report.out, HasSubstr("2.9 KiB"));
  EXPECT_THAT(report.out, testing::Not(HasSubstr("prof_accum")));
  EXPECT_THAT(report.out, testing::Not(HasSubstr("Nothing was allocated")));
  EXPECT_THAT(run({"report", massif, "--metric", "heap-growth"}).out,
              HasSubstr("Heap growth (heap-growth) by function"));
  EXPECT_THAT(run({"report", massif, "--metric", "heap-live"}).out,
              testing::Not(HasSubstr("(heap-live) by function")));
  EXPECT_THAT(run({"report", massif, "--metric", "heap-short-lived"}).error,
              HasSubstr("the file has no lifetimes of blocks"));
  EXPECT_THAT(run({"report", massif, "--metric", "heap-allocated"}).error,
              HasSubstr("the file has no counts of allocations"));
}

}  // namespace
}  // namespace fathom::cli
