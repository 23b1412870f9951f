// The built program, run on files as a user runs it: no shell in between, so no quoting.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "analysis/diff/hand_made_sides.h"
#include "analysis/heap/hand_made_heap.h"
#include "base/fd.h"
#include "base/files.h"
#include "elf/module_file.h"
#include "store/writer.h"

namespace fathom::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Outcome {
  int status = -1;
  std::string out;
  std::string error;
};

class Cli : public testing::Test {
 protected:
  Cli() {
    std::filesystem::create_directories(folder_);
    recording_ = folder_ + "/server.fathom";
    EXPECT_TRUE(store::Writer::create(recording_).value().finish(analysis::small_server()));
  }
  ~Cli() override { std::filesystem::remove_all(folder_); }

  // Standard output goes to `out_fd` when given.
  Outcome run(std::vector<std::string> arguments, const std::string& input = "/dev/null", int out_fd = -1) {
    arguments.insert(arguments.begin(), FATHOM_BINARY);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    std::vector<std::string> environment{"PATH=/usr/bin:/bin", "COLUMNS=90"};
    std::vector<char*> envp;
    for (std::string& variable : environment) envp.push_back(variable.data());
    envp.push_back(nullptr);

    const std::string out = folder_ + "/out";
    const std::string error = folder_ + "/error";
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, input.c_str(), O_RDONLY, 0);
    if (out_fd >= 0) {
      ::posix_spawn_file_actions_adddup2(&actions, out_fd, 1);
    } else {
      ::posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    }
    ::posix_spawn_file_actions_addopen(&actions, 2, error.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t pid = 0;
    EXPECT_EQ(::posix_spawn(&pid, FATHOM_BINARY, &actions, nullptr, argv.data(), envp.data()), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    Outcome outcome;
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (out_fd < 0) outcome.out = read_file(out).value();
    outcome.error = read_file(error).value();
    return outcome;
  }

  std::string file(const std::string& name, std::string_view content) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  std::string folder_ = testing::TempDir() + "fathom-cli-" + std::to_string(::getpid());
  std::string recording_;
};

TEST_F(Cli, ReportIsTheAnswerInOneScreen) {
  const Outcome outcome = run({"report", recording_});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.out, StartsWith("hand (pid 10) · 10.00 s · 2 threads, 0.91 of 2 CPUs · 900 samples"));
  EXPECT_THAT(outcome.out, HasSubstr("of CPU time is below request::parse: nearly all of it in Vec::push"));
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

// Whoever looks at a picture wants to know what taking it cost the machine.
TEST_F(Cli, EveryOutputSaysWhatRecordingCost) {
  const std::string cost = "fathom took 120 ms of CPU (1.2 % of a core)";
  EXPECT_THAT(run({"report", recording_}).out, HasSubstr(cost));
  EXPECT_THAT(run({"flamegraph", recording_, "-o", "-"}).out, HasSubstr(cost));
}

// A program that was stripped and recorded elsewhere: its function was named by its bounds.
class CliNames : public Cli {
 protected:
  CliNames() {
    const auto program = elf::ModuleFile::open(FATHOM_FIXTURES "/dwarf5");
    analysis::HandMade hand;
    model::Module row;
    row.kind = model::ModuleKind::kFile;
    row.name = hand.builder.string("server");
    row.path = hand.builder.string("/elsewhere/server");
    row.build_id = hand.builder.string(program->elf().build_id());
    row.symbols = model::SymbolSource::kPseudo;
    const auto module = hand.builder.module(row);
    model::FrameId frame;
    for (const elf::Symbol& symbol : program->elf().symbols(elf::SymbolTable::kSymtab))
      if (symbol.name == "_ZN5store4fillERNS_6BucketEj") frame = hand.builder.frame(module, symbol.address);
    hand.builder.name_frame(frame, {{"server@fde+0x1c20", "", 0}});
    hand.sample(hand.thread(hand.process(1, "server"), 1, "server"), hand.stack({frame}), 1000);
    EXPECT_TRUE(store::Writer::create(stripped_).value().finish(hand.profile));
    std::filesystem::create_directories(names_);
  }
  void put(const std::string& fixture, const std::string& name) {
    std::filesystem::copy_file(FATHOM_FIXTURES "/" + fixture, names_ + "/" + name);
  }
  std::string stripped_ = folder_ + "/stripped.fathom", names_ = folder_ + "/names";
};

TEST_F(CliNames, AFunctionWithoutANameIsShort) {
  const Outcome outcome = run({"report", stripped_});
  EXPECT_THAT(outcome.out, HasSubstr("below an unnamed function of server (0x1c20)"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("fde"))) << outcome.out;
  EXPECT_THAT(run({"export", stripped_, "--to", "folded"}).out, HasSubstr("server@0x1c20 1000"));
}

TEST_F(CliNames, ComeFromAFolderWhenReading) {
  put("dwarf5.debug", "of any name");
  const Outcome outcome = run({"report", stripped_, "--symbols", names_});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.out, HasSubstr("100 % of CPU time is below store::fill (inlines.cpp:"));
  EXPECT_THAT(run({"export", stripped_, "--to", "folded", "--symbols", names_}).out,
              HasSubstr("store::fill(store::Bucket&, unsigned int)"));
}

TEST_F(CliNames, OfAFileOfAnotherBuildIdAreRefusedInWords) {
  put("dwarf4", "server");
  const Outcome outcome = run({"report", stripped_, "--symbols", names_});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.error, HasSubstr("names/server is not used: its build id is "));
  EXPECT_THAT(outcome.error,
              HasSubstr("no file in " + names_ + " has the build id of a module that lacks names"));
  EXPECT_THAT(outcome.out, HasSubstr("an unnamed function of server"));
  EXPECT_EQ(run({"report", stripped_, "--symbols", names_ + "/nowhere"}).status, 3);
  EXPECT_EQ(run({"report", file("x.folded", "a;b 1\n"), "--symbols", names_}).status, 2);
}

TEST_F(CliNames, AreKeptByFathomSymbolize) {
  put("dwarf5.debug", "debug");
  const std::string kept = folder_ + "/kept.fathom";
  const Outcome outcome = run({"symbolize", stripped_, "--symbols", names_ + "/debug", "-o", kept});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.out + outcome.error, HasSubstr("1 of 1 places have names, 0 before"));
  EXPECT_THAT(run({"export", kept, "--to", "folded"}).out,
              HasSubstr("store::fill(store::Bucket&, unsigned int)"));
  EXPECT_EQ(run({"symbolize", stripped_, "--symbols", names_, "-o", kept}).status, 2) << "it is there";
}

TEST_F(CliNames, OfAWrongTwinAreRefusedByFathomSymbolize) {
  put("dwarf4", "twin");
  const std::string kept = folder_ + "/kept.fathom";
  const Outcome outcome = run({"symbolize", stripped_, "--symbols", names_ + "/twin", "-o", kept});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.error, HasSubstr("names/twin is not used: its build id is "));
  EXPECT_THAT(outcome.error, HasSubstr("and no module of the recording has that"));
  EXPECT_FALSE(std::filesystem::exists(kept)) << "nothing was gained";
}

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
  EXPECT_THAT(none.error, HasSubstr("no record of a process killed for want of memory"));
  EXPECT_THAT(none.error, HasSubstr("try: journalctl -k -b -1"));
}

// What a file of another tool does not tell is not told in the words of a recording or of jemalloc's dumps.
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
  EXPECT_THAT(run({"report", massif, "--metric", "heap-short-lived"}).error,
              HasSubstr("the file does not tell how long blocks lived"));
  EXPECT_THAT(run({"report", massif, "--metric", "heap-allocated"}).error,
              HasSubstr("the file does not tell what was allocated"));
}

TEST_F(Cli, ErrorsAreOneLineAndARemedy) {
  const Outcome missing = run({"report", folder_ + "/nothing"});
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.error, StartsWith("fathom: " + folder_ + "/nothing: "));
  EXPECT_EQ(missing.out, "");

  const Outcome binary = run({"report", file("perf.data", "PERFILE2....")});
  EXPECT_EQ(binary.status, 1);
  EXPECT_THAT(binary.error, testing::MatchesRegex("fathom: [^\n]*perf.data[^\n]*\ntry: perf record[^\n]*\n"));

  EXPECT_THAT(run({"report", recording_, "--callers", "server::"}).error,
              HasSubstr("'server::' fits 4 functions: "));
}

TEST_F(Cli, WrongUsageIsStatusTwo) {
  EXPECT_EQ(run({}).status, 2);
  EXPECT_EQ(run({"nonsense"}).status, 2);
  EXPECT_EQ(run({"report"}).status, 3) << "there is no recording in this folder";
  EXPECT_EQ(run({"recrod", "--", "x"}).error, "fathom: there is no command 'recrod'\ntry: fathom record\n");
  EXPECT_EQ(run({"statistics"}).error,
            "fathom: there is no command 'statistics'\ntry: fathom --help, which lists them\n");
  EXPECT_EQ(run({"report", recording_, "--sort", "name"}).status, 2);
  const Outcome metric = run({"report", recording_, "--metric", "joules"});
  EXPECT_EQ(metric.status, 2);
  EXPECT_THAT(metric.error, HasSubstr("heap-temporary, heap-short-lived\n"))
      << "all of them, and nothing after them";
  EXPECT_EQ(run({"report", recording_, "--from", "5", "--to", "4"}).status, 2);
  EXPECT_EQ(run({"export", recording_, "--to", "tea"}).status, 2);
  EXPECT_THAT(run({"report", recording_, "--top", "x"}).error, HasSubstr("\ntry: fathom report --help\n"));
}

TEST_F(Cli, HelpAndVersionGoToStandardOutput) {
  const Outcome help = run({"report", "--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("--callers"));
  EXPECT_EQ(run({"--help"}).status, 0);
  const std::string version = run({"--version"}).out;
  EXPECT_THAT(version, StartsWith("fathom "));
  for (const char* line : {"\nengines: ", "\nrecordings: writes format "})
    EXPECT_THAT(version, HasSubstr(line));
  EXPECT_EQ(run({"help", "report"}).out, help.out);
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  for (const char* word : {"RSS", "OOM", "anonymous", "muzzy", "retained", "confidence"})
    EXPECT_THAT(run({"help", "words"}).out, HasSubstr(word));
  const Outcome mistyped = run({"help", "reprot"});
  EXPECT_EQ(mistyped.status, 2);
  EXPECT_THAT(mistyped.error,
              StartsWith("fathom: there is no command 'reprot'\ntry: one of record, triage, report"));
}

// What bash itself completes: `words` are those of the line so far, the last of them in the midst.
std::string completed_by_bash(const std::string& completion, const std::string& words) {
  const std::string script = "source " + completion + "; COMP_WORDS=(" + words +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _fathom; echo \"${COMPREPLY[*]}\"";
  FILE* pipe = ::popen(("bash -c '" + script + "' 2>&1").c_str(), "r");
  std::string text;
  for (char buffer[512]; pipe != nullptr && std::fgets(buffer, sizeof(buffer), pipe) != nullptr;)
    text += buffer;
  if (pipe != nullptr) ::pclose(pipe);
  return text;
}

TEST_F(Cli, BashCompletesCommandsOptionsAndValues) {
  const std::string completion = folder_ + "/completion";
  ASSERT_TRUE(write_file(completion, run({"completion", "bash"}).out).has_value());
  EXPECT_EQ(completed_by_bash(completion, "fathom rep"), "report\n");
  EXPECT_EQ(completed_by_bash(completion, "fathom report --call"), "--callers --callees\n");
  EXPECT_EQ(completed_by_bash(completion, "fathom report --sort s"), "self\n");
  EXPECT_EQ(completed_by_bash(completion, "fathom help fla"), "flamegraph\n");
  EXPECT_THAT(completed_by_bash(completion, "fathom report " + folder_ + "/serv"),
              HasSubstr("/server.fathom"));
}

TEST_F(Cli, ManualPagesAreOfEveryCommand) {
  EXPECT_THAT(run({"man"}).out, StartsWith(".TH fathom 1\n"));
  for (const char* command : {"report", "leaks", "export", "timeline"})
    EXPECT_THAT(run({"man", command}).out, StartsWith(".TH fathom\\-" + std::string(command) + " 1\n"));
  EXPECT_EQ(run({"man", "fly"}).status, 2);
}

TEST_F(Cli, AReaderThatHasSeenEnoughIsNoError) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd write_end(ends[1]);
  ::close(ends[0]);  // "| head" has left already
  for (const char* option : {"--json", "--wide"}) {
    const Outcome outcome = run({"report", recording_, option}, "/dev/null", write_end.get());
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.error, "");
  }
}

TEST_F(Cli, AnEarlierResultIsReplacedAndAnythingElseOnlyWithForce) {
  const std::string precious = file("main.cpp", "int main() {}\n"), picture = folder_ + "/x.svg",
                    json = folder_ + "/x.json";
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(run({"flamegraph", recording_, "-o", picture}).status, 0);
    EXPECT_EQ(run({"report", recording_, "--json", "-o", json}).status, 0);
  }
  const std::vector<std::vector<std::string>> wrong = {
      {"flamegraph", recording_, "-o", precious},
      {"flamegraph", recording_, "-o", recording_},
      {"flamegraph", recording_, "-o", json},
      {"report", recording_, "-o", precious},
      {"report", recording_, "--json", "-o", picture},
      {"export", recording_, "--to", "folded", "-o", precious}};
  for (const std::vector<std::string>& arguments : wrong) {
    const std::string before = read_file(arguments.back()).value();
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.error, "fathom: " + arguments.back() +
                                 ": there is a file of this name, which is not known to be an earlier result "
                                 "of this kind\ntry: another name, or --force to replace it\n");
    EXPECT_EQ(read_file(arguments.back()).value(), before);
  }
  EXPECT_EQ(run({"report", recording_, "-o", precious, "--force"}).status, 0);
  EXPECT_THAT(read_file(precious).value(), StartsWith("hand (pid 10)"));
}

TEST_F(Cli, DevicesAndPipesAreWrittenIntoAndLinksAreRefused) {
  EXPECT_THAT(run({"report", recording_, "-o", "/dev/stdout"}).out, StartsWith("hand (pid 10)"));
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(run({"report", recording_, "-o", pipe}).error,
              HasSubstr(": nobody reads from this pipe\ntry: "));
  const Fd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_EQ(run({"report", recording_, "-o", pipe}).status, 0);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  std::filesystem::create_symlink("elsewhere", folder_ + "/link");
  for (const char* force : {"--wide", "--force"})
    EXPECT_THAT(run({"report", recording_, "-o", folder_ + "/link", force}).error,
                HasSubstr(": this is a symbolic link, which is not followed\ntry: "));
}

TEST_F(Cli, DiffSaysWhatChangedAndFailsWhereItIsTold) {
  const std::string base = folder_ + "/base.fathom", fresh = folder_ + "/new.fathom";
  ASSERT_TRUE(store::Writer::create(base).value().finish(analysis::side_of_change(false)));
  ASSERT_TRUE(store::Writer::create(fresh).value().finish(analysis::side_of_change(true)));
  const Outcome text = run({"diff", base, fresh, "--wide"});
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.error, "");
  EXPECT_THAT(text.out, HasSubstr("Trie::root (trie.rs:311) went from 10.0 % to 30.0 %"));
  EXPECT_THAT(run({"diff", base, base}).out, HasSubstr("Nothing differs by more than noise"));

  const Outcome failed = run({"diff", base, fresh, "--fail-if", "self > +50% : Trie::root"});
  EXPECT_EQ(failed.status, 5);
  EXPECT_THAT(failed.error,
              StartsWith("fathom: self > +50% : Trie::root holds: Trie::root: 10.0 % → 30.0 %"));
  EXPECT_EQ(run({"diff", base, fresh, "--fail-if", "self > +500% : Trie::root"}).status, 0);
  EXPECT_EQ(run({"diff", base, base, "--fail-if", "total > +1%"}).status, 0);

  EXPECT_THAT(run({"diff", base, fresh, "--json"}).out, StartsWith("{\n  \"format_version\": 1,"));
  EXPECT_THAT(run({"diff", base, fresh, "--markdown"}).out, StartsWith("### CPU"));
  EXPECT_THAT(run({"diff", base, fresh, "--folded"}).out,
              HasSubstr("worker-#;main;Server::serve<alloc::string::String>;Trie::root 200 600\n"));
  EXPECT_THAT(run({"diff", base, fresh, "--power", "1%"}).out, HasSubstr("four times out of five"));
  const std::string picture = folder_ + "/diff.svg";
  EXPECT_EQ(run({"diff", base, fresh, "--flamegraph", picture}).status, 0);
  EXPECT_THAT(read_file(picture).value(), HasSubstr("Trie::copy"));
}

// A check whose function was renamed, or which is about a whole that is always the same, passed for ever without a word.
TEST_F(Cli, DiffSaysThatAConditionCanNeverHold) {
  const std::string base = folder_ + "/base.fathom", fresh = folder_ + "/new.fathom";
  ASSERT_TRUE(store::Writer::create(base).value().finish(analysis::side_of_change(false)));
  ASSERT_TRUE(store::Writer::create(fresh).value().finish(analysis::side_of_change(true)));
  const Outcome nothing = run({"diff", base, fresh, "--fail-if", "total > +5% : Tree::root"});
  EXPECT_EQ(nothing.status, 0);
  EXPECT_EQ(
      nothing.error,
      "fathom: total > +5% : Tree::root: neither side has anything of this name, so this can never hold\n");
  const Outcome shares = run({"diff", base, fresh, "--normalize", "share", "--fail-if", "total > +5%"});
  EXPECT_EQ(shares.status, 2);
  EXPECT_THAT(shares.error,
              HasSubstr("the whole of them is the same on both sides\ntry: --normalize absolute"));
}

// What a whole run allocated is compared per second, too, and the condition stood there once more with that unit.
TEST_F(Cli, DiffSaysAConditionOfTheHeapOnce) {
  analysis::HandMadeHeap before = analysis::small_heap(), after = analysis::small_heap();
  after.slice();
  after.row({0}, {50'000, 50'000'000}, {50'000, 50'000'000});
  const std::string base = folder_ + "/base.fathom", fresh = folder_ + "/new.fathom";
  for (auto [path, hand] : {std::pair(base, &before), std::pair(fresh, &after)}) {
    hand->profile.meta.facts["command"] = "server";
    hand->profile.meta.facts["exit"] = "0";
    ASSERT_TRUE(store::Writer::create(path).value().finish(hand->profile));
  }
  const Outcome outcome = run({"diff", base, fresh, "--fail-if", "allocated > +5%"});
  EXPECT_EQ(outcome.status, 5) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("allocated bytes per second"));
  EXPECT_EQ(outcome.error.find(" holds: "), outcome.error.rfind(" holds: ")) << outcome.error;
}

TEST_F(Cli, DiffTakesRangesRunsAndFoldedStacks) {
  const std::string base = folder_ + "/base.fathom", fresh = folder_ + "/new.fathom";
  ASSERT_TRUE(store::Writer::create(base).value().finish(analysis::side_of_change(false)));
  ASSERT_TRUE(store::Writer::create(fresh).value().finish(analysis::side_of_change(true)));
  EXPECT_THAT(run({"diff", base, "--base", ":10", "--new", "10:"}).out,
              HasSubstr("Nothing differs by more than noise"));
  const Outcome runs = run({"diff", "--base", base, base, "--new", fresh, fresh});
  EXPECT_EQ(runs.status, 0);
  EXPECT_THAT(runs.out, HasSubstr("base  2 runs ("));
  const std::string a = file("a.folded", "app;main;parse 300\napp;main;write 700\n");
  const std::string b = file("b.folded", "app;main;parse 500\napp;main;write 500\n");
  const Outcome folded = run({"diff", a, b, "--wide"});
  EXPECT_EQ(folded.status, 0);
  EXPECT_THAT(folded.out, HasSubstr("--normalize share"));
  EXPECT_THAT(folded.out, HasSubstr("parse went from 30.0 % to 50.0 %"));
}

TEST_F(Cli, DiffComparesPhasesByTheirMarksAndProcessesByTheirNumbers) {
  const std::string file = folder_ + "/base.fathom";
  model::Profile profile = analysis::side_of_change(true);
  profile.meta.facts["marks"] = "0.000 s: startup\n5.000 s: load\n10.000 s: rest\n15.000 s: load\n";
  ASSERT_TRUE(store::Writer::create(file).value().finish(profile));
  const Outcome once = run({"diff", file, "--base", "startup", "--new", "rest", "--wide"});
  EXPECT_EQ(once.status, 0) << once.error;
  EXPECT_THAT(once.out, HasSubstr("base.fathom startup (5.00 s, "));
  EXPECT_THAT(run({"diff", file, "--base", "startup", "--new", "load", "--wide"}).out, HasSubstr("2 runs ("));
  const Outcome unknown = run({"diff", file, "--base", "startup", "--new", "lunch"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.error,
              HasSubstr("'lunch' is no range of seconds and no mark; there are 'startup', 'load', 'rest'"));
  EXPECT_THAT(run({"diff", file, "--base", "pid:10", "--new", "pid:10", "--wide"}).out,
              HasSubstr("base.fathom pid:10 ("));
  EXPECT_EQ(run({"diff", file, "--base", "pid:10", "--new", "pid:x"}).status, 2);
}

TEST_F(Cli, DiffSaysHowFarRunsLieApartAndHowEvenTheLoadWas) {
  const std::string base = folder_ + "/base.fathom", fresh = folder_ + "/new.fathom";
  ASSERT_TRUE(store::Writer::create(base).value().finish(analysis::side_of_change(false)));
  ASSERT_TRUE(store::Writer::create(fresh).value().finish(analysis::side_of_change(true)));
  const std::string equal = run({"diff", base, base, "--wide"}).out;
  EXPECT_THAT(equal, HasSubstr("1,150 samples, an even load)"));
  EXPECT_THAT(run({"diff", base, fresh, "--wide"}).out, HasSubstr("1.0 % is assumed"));
  const std::string runs = run({"diff", "--base", base, base, base, base, "--new", fresh, "--wide"}).out;
  EXPECT_THAT(runs, HasSubstr("runs lie apart by 0.0 %"));
  EXPECT_THAT(runs, HasSubstr("known of base, and taken for the one run of new, too"));
  EXPECT_THAT(runs, Not(HasSubstr("is assumed")));
}

TEST_F(Cli, DiffRefusesWhatAreNoTwoSides) {
  const std::vector<std::vector<std::string>> wrong = {{recording_},
                                                       {recording_, recording_, recording_},
                                                       {recording_, "--base", "0:5"},
                                                       {recording_, "--base", "0:5", "--new", "5:x"},
                                                       {recording_, "--base", "5:0", "--new", "5:9"},
                                                       {"-", "-"},
                                                       {recording_, recording_, "--fail-if", "everything"},
                                                       {recording_, recording_, "--normalize", "work"},
                                                       {recording_, recording_, "--work-base", "1", "2"},
                                                       {recording_, recording_, "--work-base", "nan"},
                                                       {recording_, recording_, "--work-base", "inf"},
                                                       {recording_, recording_, "--work-new", "1e-320"},
                                                       {recording_, recording_, "--work-new", "-1"},
                                                       {recording_, recording_, "--power", "none"}};
  for (std::vector<std::string> arguments : wrong) {
    arguments.insert(arguments.begin(), "diff");
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments.back();
    EXPECT_THAT(outcome.error, HasSubstr("\ntry: ")) << arguments.back();
  }
  EXPECT_EQ(run({"diff", recording_, folder_ + "/nothing"}).status, 3);
  EXPECT_EQ(run({"diff", recording_, recording_, "--metric", "off-cpu"}).status, 3);
}

TEST_F(Cli, ACommandThatFailsLeavesNoFile) {
  const std::string path = folder_ + "/new/x.svg";
  EXPECT_EQ(run({"flamegraph", recording_, "--metric", "off-cpu", "-o", path}).status, 3);
  EXPECT_EQ(run({"flamegraph", folder_ + "/nothing", "-o", path}).status, 3);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/new"));
}

TEST_F(Cli, AFullDiskIsAnError) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_GE(full.get(), 0);
  const Outcome outcome = run({"report", recording_}, "/dev/null", full.get());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.error, StartsWith("fathom: standard output: "));
}

}  // namespace
}  // namespace fathom::cli
