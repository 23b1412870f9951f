#include "formats/open/open_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "analysis/core/hand_made_profile.h"
#include "base/packed/packer.h"
#include "binary/elf/module_file.h"
#include "model/event_samples.h"
#include "model/store/writer.h"

namespace fathom::open {
namespace {

using testing::HasSubstr;

// A caller that does not say which process reads the target's files does not compile: this process may run as
// root.
template <class Path>
concept OpensWithoutAReader = requires(const Path& path) {
  open_profile(path);
};
static_assert(!OpensWithoutAReader<std::string>);
static_assert(!std::is_default_constructible_v<NameOptions>);

Result<model::Profile> opened(const std::string& path) {
  return open_profile(path, NameOptions(""));
}

class OpenProfile : public testing::Test {
 protected:
  OpenProfile() { std::filesystem::create_directories(folder_); }
  ~OpenProfile() override { std::filesystem::remove_all(folder_); }
  std::string file(std::string_view content, const std::string& name = "x") {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string folder_ = testing::TempDir() + "fathom-input-" + std::to_string(::getpid());
};

TEST_F(OpenProfile, RecognizesARecordingByItsContent) {
  const std::string path = folder_ + "/misleading.folded";
  const model::Profile profile = analysis::small_server();
  ASSERT_TRUE(store::Writer::create(path).value().finish(profile));
  const Result<model::Profile> read = opened(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->samples.size(), profile.samples.size());
}

TEST_F(OpenProfile, ACopyOfARecordingHasTheSamplesOfItsEvents) {
  model::Profile profile = analysis::small_server();
  model::Builder builder(profile);
  model::Sample event = profile.samples.front();
  event.metric = model::Metric::kWall;
  event.stack = builder.stack(event.stack, model::event_frame(builder, "page-faults"));
  profile.samples.push_back(event);
  profile.meta.facts[model::kEventsFact] = model::events_fact(
      {{.name = "page-faults", .count = 1, .value = 1, .samples = 1, .lost = 0, .unit = "page-faults"}});
  const std::string path = folder_ + "/x.fathom";
  ASSERT_TRUE(store::Writer::create(path).value().finish(profile));
  NameOptions names("");
  EXPECT_EQ(open_profile(path, names)->samples.size(), profile.samples.size() - 1) << "CPU time alone";
  names.event.name = "page-faults";
  EXPECT_EQ(open_profile(path, names)->samples.size(), 1u);
  names.event = {.name = "", .all = true};
  EXPECT_EQ(open_profile(path, names)->samples.size(), profile.samples.size());
}

TEST_F(OpenProfile, DumpsThatAreTooLargeTogetherAreRejected) {
  std::vector<std::string> dumps;
  const std::string text =
      "heap_v2/1024\n  t*: 1: 1024 [0: 0]\n@ 0x10\n  t*: 1: 1024 [0: 0]\n\nMAPPED_LIBRARIES:\n";
  for (int i = 0; i < 3; ++i)
    dumps.push_back(file(text, "jeprof.7." + std::to_string(i) + ".m" + std::to_string(i) + ".heap"));
  const auto open = [&](std::uint64_t most) {
    return open_profiles(dumps, {}, NameOptions(""), {.merge = {}, .most_bytes = most});
  };
  const auto all = open(3 * text.size());
  EXPECT_TRUE(all) << all.error().message;
  const auto refused = open(3 * text.size() - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("these 3 files"));
}

TEST_F(OpenProfile, AnEmptyDumpDoesNotCostTheOthers) {
  const std::string whole =
      file("heap_v2/1024\n  t*: 1: 1024 [0: 0]\n@ 0x10\n  t*: 1: 1024 [0: 0]\n\nMAPPED_LIBRARIES:\n",
           "jeprof.7.0.i0.heap");
  const std::string empty = file("", "jeprof.7.1.i1.heap"), another = file("", "jeprof.7.2.i2.heap");
  const auto open = [](const std::vector<std::string>& dumps) {
    return open_profiles(dumps, {}, NameOptions(""), {.merge = {}, .most_bytes = 1 << 20});
  };
  const auto both = open({whole, empty});
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_THAT(both->quality.notes, testing::Contains(HasSubstr("jeprof.7.1.i1.heap: the file is empty")));
  EXPECT_FALSE(open({empty, another}));
}

TEST_F(OpenProfile, ADumpThatEndsEarlyIsCut) {
  const std::string rows = "heap_v2/1024\n  t*: 1: 1024 [0: 0]\n@ 0x10\n  t*: 1: 1024 [0: 0]\n\n";
  EXPECT_TRUE(opened(file(rows, "jeprof.7.0.i0.heap"))->quality.truncated);
  EXPECT_FALSE(opened(file(rows + "MAPPED_LIBRARIES:\n", "jeprof.7.1.i1.heap"))->quality.truncated);
}

// A bytehound file has no magic number: its first block unpacks to a header.
TEST_F(OpenProfile, ABytehoundFileIsRecognizedByItsHeader) {
  std::string event(52, '\0');
  event += std::string("\x2a\0\0\0", 4) + std::string(12, '\0') + std::string(8, '\0') + '\x08';
  const std::string head("\x02\x4d\0\0\0", 5);
  ASSERT_EQ(event.size(), 0x4du);
  const Result<model::Profile> read = opened(file(head + event, "memory.dat"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->meta.facts.at("format"), "bytehound");
  const auto refused = opened(file(std::string("\x01\x40\0\0\0", 5) + std::string(64, '\x17')));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::Not(HasSubstr("bytehound")));
}

TEST_F(OpenProfile, RecognizesFoldedStacksAndNamesThemAfterTheFile) {
  const Result<model::Profile> read = opened(file("main;f 3\n", "stacks.txt"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->meta.target, "stacks.txt");
  EXPECT_EQ(read->meta.facts.at("format"), "folded");
}

TEST_F(OpenProfile, RecognizesPerfScript) {
  const Result<model::Profile> read = opened(file("a 1 1.0: 5 cycles:\n\t1 f (m)\n\n"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->meta.facts.at("format"), "perf script");
}

TEST_F(OpenProfile, PackedFilesAreTreatedAsTheirContent) {
  for (const packed::Packing packing : {packed::Packing::kGzip, packed::Packing::kZstd}) {
    packed::Packer packer(packing);
    packer.add("main;f 3\n");
    const Result<model::Profile> read = opened(file(packer.finish().value(), "stacks.txt.gz"));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->meta.facts.at("format"), "folded");
    EXPECT_EQ(read->meta.target, "stacks.txt.gz");
  }
}

TEST_F(OpenProfile, AFileThatIsPackedSeveralTimesIsReadAsItsContent) {
  const auto packed = [](std::string_view content, packed::Packing packing) {
    packed::Packer packer(packing);
    packer.add(content);
    return packer.finish().value();
  };
  std::string content = "main;f 3\n";
  for (const packed::Packing packing :
       {packed::Packing::kGzip, packed::Packing::kZstd, packed::Packing::kGzip}) {
    content = packed(content, packing);
    const Result<model::Profile> read = opened(file(content));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->samples.size(), 1u);
  }
  EXPECT_FALSE(opened(file(packed(content, packed::Packing::kZstd)))) << "as deep as any bomb";
}

// A pipe that never ends: the reader ends by itself, and the writer notices.
class EndlessInput : public OpenProfile,
                     public testing::WithParamInterface<std::pair<const char*, const char*>> {
 protected:
  // How it ends, and how many bytes the writer had sent by then.
  std::pair<Error, std::size_t> refusal_of(std::string_view first, std::string_view piece) {
    ::signal(SIGPIPE, SIG_IGN);
    const std::string pipe = folder_ + "/pipe";
    EXPECT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::size_t sent = 0;
    std::thread writer([&] {
      std::string block(first);
      std::string rest;
      while (rest.size() < (1 << 16)) rest += piece;
      std::ofstream out(pipe, std::ios::binary);
      for (constexpr std::size_t kMost = std::size_t{1} << 30; sent < kMost; block = rest) {
        if (!out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) break;
        sent += block.size();
      }
    });
    const Result<model::Profile> read = opened(pipe);
    writer.join();
    EXPECT_FALSE(read);
    return {read ? Error{} : read.error(), sent};
  }
};

TEST_P(EndlessInput, OfNoKnownFormatIsRefusedByItsBeginning) {
  const auto [piece, expected] = GetParam();
  const auto [error, sent] = refusal_of("", piece);
  EXPECT_THAT(error.message, HasSubstr(expected));
  EXPECT_NE(error.remedy, "");
  EXPECT_LT(sent, 16u << 20);
}
INSTANTIATE_TEST_SUITE_P(Kinds, EndlessInput,
                         testing::Values(std::pair("y\n", "not a format fathom can read"),
                                         std::pair("no line end ", "not a format fathom can read"),
                                         std::pair("1 2 3\nx\n", "not a format fathom can read"),
                                         std::pair("{\"a\": [1, 2]}\n", "JSON of no format"),
                                         std::pair("# Overhead  Command\n", "a table of perf report")));

TEST_F(EndlessInput, ThatNoLongerMakesSenseIsRefused) {
  // What a format is like is decided by its first 64 KiB.
  for (const std::string_view one :
       {"main;f 3\nmain;g 4\n", "a 1 [000] 5.100000: 1 cycles:\n\t1f f+0x1 (/a)\n\n"}) {
    std::string first;
    while (first.size() < (1 << 17)) first += one;
    const auto [error, sent] =
        refusal_of(first, std::string(4000, 'y') + "\n");  // few lines: each takes time
    EXPECT_THAT(error.message, HasSubstr("no sample in 256 MiB after the first ")) << one;
    EXPECT_NE(error.remedy, "");
    EXPECT_LT(sent, 300u << 20);
    std::filesystem::remove(folder_ + "/pipe");
  }
}

TEST_F(OpenProfile, ARemedyNamesAFileAsAShellTakesIt) {
  const std::string path = folder_ + "/my file";
  std::ofstream(path) << "BZhxxxxxxxxxxxx";
  EXPECT_THAT(opened(path).error().remedy, HasSubstr("bzip2 -dk '" + path + "'"));
}

TEST_F(OpenProfile, AnUnreadableFormatIsNamedWithARemedy) {
  const auto refusal = [&](std::string_view content) {
    const Result<model::Profile> read = opened(file(content));
    EXPECT_FALSE(read);
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
    return read.error().message + " | " + read.error().remedy;
  };
  EXPECT_THAT(refusal("PERFILE2........"), HasSubstr("perf.data with a damaged head"));
  EXPECT_THAT(refusal("2ELIFREP........"),
              HasSubstr("the other order of bytes, which is not read | perf script -F +pid -i "));
  EXPECT_THAT(refusal("\x1f\x8b\x08\x01"), HasSubstr("packed with gzip, and damaged or cut short"));
  EXPECT_THAT(refusal("\xfd"
                      "7zXZ"),
              HasSubstr("packed with xz, which is not read | xz -dk "));
  EXPECT_THAT(refusal("{\"traceEvents\": []}"),
              HasSubstr("a trace of Chrome's format, which is not read | "));
  EXPECT_THAT(refusal("\x7f"
                      "ELF\x02"),
              HasSubstr("a program, which is not read | fathom record -- "));
  EXPECT_THAT(refusal("<svg></svg>"), HasSubstr("a picture"));
  EXPECT_THAT(refusal("{\"a\": 1}"), HasSubstr("JSON"));
  EXPECT_THAT(refusal(std::string_view("ab\0cd", 5)),
              HasSubstr("not a fathom recording, and not a format fathom can read"));
  EXPECT_THAT(refusal("starting\n<jemalloc>: Invalid conf pair: prof:true\nready\n"),
              HasSubstr("a log in which jemalloc rejects the setting prof:true | fathom doctor --malloc-conf "
                        "prof:true -p PID, "));
  EXPECT_THAT(refusal(""), HasSubstr("the file is empty"));
  EXPECT_THAT(
      refusal("hello world\n"),
      HasSubstr("not a fathom recording, and not a format fathom can read | a file of fathom record"));
}

// For any input, an error only mentions folded text if the input is folded text.
TEST_F(OpenProfile, AnErrorNamesTheNearestFormat) {
  const std::vector<std::pair<std::string_view, std::string_view>> files = {
      {"[{\"pid\":1,\"tid\":1,\"ph\":\"X\",\"name\":\"work\",\"ts\":0,\"dur\":100}]",
       "a trace of Chrome's format"},
      {"[\n {\"ph\": \"B\", \"ts\": 1}\n]", "a trace of Chrome's format"},
      {R"({"resourceSpans":[{"scopeSpans":[]}]})", "a trace of OpenTelemetry"},
      {"{\"meta\":{\"version\":27},\"libs\":[],\"threads\":[{\"stringTable\":[],\"samples\":{\"schema\":{}}}]"
       "}",
       "a raw profile of Gecko"},
      {"Flat profile:\n\nEach sample counts as 0.01 seconds.\n 75.00      0.30     0.30      100\n",
       "a table of gprof"},
      {"--- contentionz 1 ---\ncycles/second = 3201000000\nsampling period = 100\n1 2 @ 0x4c61e0 0x4c9\n",
       "a text of pprof's older formats"},
      {"--- threadz 1 ---\n\n--- Thread 7f 1 ---\n", "a text of pprof's older formats"},
      {"goroutine profile: total 3\n1 @ 0x4c61e0\n", "a text of pprof's older formats"},
      {"goroutine 18 [semacquire, 5 minutes]:\nmain.worker()\n\t/app/main.go:41 +0x84\n",
       "a dump of Go's goroutines"},
      {"PID 122 - process\nTID 122:\n#0  0x00007ffff7ab0e76 poll\n", "a text of eu-stack"},
      {"Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.\n\n    compute\n    main\n",
       "a text of bcc's profile"},
      {"Tracing off-CPU time (us) of all threads... Hit Ctrl-C to end.\n\n    schedule\n    main\n",
       "a text of bcc's profile"},
      {"Traceback (most recent call last):\n  File \"a.py\", line 9, in work\n", "a traceback of Python"},
      {"Analysis of sampling app (pid 7) every 1 millisecond\nCall graph:\n    8 main 8\n",
       "a text of Apple's sample"},
      {"CPU     ID                    FUNCTION:NAME\n  0  1\n", "output of DTrace"},
      {"Function\tCPU Time\tModule\nmain\t1.0\ta\n", "a table of VTune"},
      {"\n              libc.so.1`read+0xa\n              app`main+0x10\n               17\n\n",
       "output of DTrace"},
      {"Weight\tSelf Weight\t\tSymbol Name\n33.80 s  100.0%\t0 s\t \tmain (4912)\n",
       "a call tree of Apple's Instruments"},
      {"# To display the perf.data header info, please use --header\n#\n    75.00%  app  app  [.] crunch\n",
       "a table of perf report"},
      {"Attaching 1 probe...\n@[\n    f+1\n, app]: 12\n", "a map that bpftrace printed"},
      {"Thread 1 (Thread 0x7f):\n#0  0x0001 in read ()\n#1  0x0002 in main ()\n", "a backtrace of gdb"},
      {"2026-03-05 10:11:12\nFull thread dump OpenJDK\n", "a thread dump of Java"},
      {"==7== Memcheck, a memory error detector\n==7== 5\n", "a log of valgrind's memcheck"},
      {"==7== HEAP SUMMARY:\n==7==     in use at exit: 3 bytes\n", "a log of valgrind's memcheck"},
      {"execve(\"/bin/ls\", [\"ls\"], 0x7 /* 3 vars */) = 0\nopenat(3, \"a;b\") = 3\n", "a trace of strace"},
      {"TRACE START [2026-01-01]\nVersion: 3.1\n    0.1   300   -> {main}() x.php:0\n", "a trace of Xdebug"},
      {"samples  %        image name               symbol name\n100      50.0     a.out  main\n",
       "a table of OProfile"},
      {"Total: 5 samples\n   3  60.0%  60.0%  3 60.0% main\n", "a table that pprof printed"},
      {"v8-version,12,4,1\ntick,0x1,5\n", "a log of V8"},
      {"Thread 1 (LWP 5):\n#0  read () at x.c:1\n#1  main () at y.c:3\n", "a backtrace of gdb"},
      {"{\"resourceProfiles\":[]}", "a profile of OpenTelemetry"},
      {"{\"main()==>f\": {\"ct\": 1, \"wt\": 5}}", "a profile of XHProf"},
      {std::string_view("go 1.21 trace\0\0\0\1\2", 18), "an execution trace of Go"},
      {std::string_view("\x7f"
                        "ELF\2\1\1\0\0\0\0\0\0\0\0\0\4\0",
                        18),
       "a core dump"},
      {"{\"version\":1.2,\"mode\":\"cpu\",\"gc_samples\":4,\"missed_samples\":0,\"frames\":{}}",
       "a profile of stackprof"},
      {"{\n\"program\": \"a\",\n\"tick_interval\": 1000,\n\"cost_centres\": [\n", "a profile of GHC"},
      {R"({"label":"a","profile":{"libs":[{"start":1,"breakpadId":"B5"}]}})", "a raw profile of Gecko"},
      {R"({"version":1,"recording":{"instrumentTypes":["timeline-record-type-script"]}})",
       "a timeline of Safari"},
      {"index  % time    self  children called     name\n[1]    100.00    0.00     1.93    0  start [1]\n",
       "a table of gprof"},
      {"Bytes Used\tCount\t\tSymbol Name\n 429 MB     100.0%\t84671\t \tstart\n",
       "a call tree of Apple's Instruments"},
      {"<profile>\n    <size>8267</size>\n", "a profile of Sysprof"},
      {"\x5e\x97\xca\xfd\1\0", "a capture of Sysprof"},
      {"\xfb\xa9\3\xfa", "a dump of Python's cProfile"},
      {"\xff\xfem\0a\0", "text in UTF-16"}};
  for (const auto& [content, what] : files) {
    const Result<model::Profile> read = opened(file(content));
    ASSERT_FALSE(read) << content;
    EXPECT_THAT(read.error().message, HasSubstr(what)) << content;
    EXPECT_FALSE(read.error().remedy.empty()) << content;
    EXPECT_THAT(read.error().message + read.error().remedy, testing::Not(HasSubstr("folded"))) << content;
  }
}

TEST_F(OpenProfile, ACoreFileIsForFathomStacks) {
  const std::string core =
      file(std::string("\x7f"
                       "ELF\2\1\1\0\0\0\0\0\0\0\0\0\4\0",
                       18));
  EXPECT_THAT(opened(core).error().remedy, testing::StartsWith("fathom stacks "));
}

TEST_F(OpenProfile, DataThatAFormatLacksIsNoReasonToRejectIt) {
  store::ReadOptions options;
  options.blocks.emplace();
  options.blocks->keep = 10;
  const std::string stacks = file("main;f 3\n");
  EXPECT_FALSE(open_profile(stacks, NameOptions(""), options)) << "single blocks were asked for";
  options.blocks->if_recorded = true;
  EXPECT_TRUE(open_profile(stacks, NameOptions(""), options));
}

// A recording of this test program whose only frame got no name.
model::Profile recording_without_names() {
  const auto file = elf::ModuleFile::open("/proc/self/exe");
  model::Profile profile;
  model::Builder builder(profile);
  model::Module row;
  row.kind = model::ModuleKind::kFile;
  row.name = builder.string("test");
  row.path = builder.string("/proc/self/exe");
  row.build_id = builder.string(file->elf().identity());
  const auto module = builder.module(row);
  for (const auto& symbol : file->elf().symbols(elf::SymbolTable::kSymtab))
    if (symbol.name == "main") builder.frame(module, symbol.address);
  return profile;
}

TEST_F(OpenProfile, AllocatorStatisticsGoToTheCallerThatWantsThem) {
  const std::string text = "starting\n___ Begin jemalloc statistics ___\nAllocated: 1, active: 4096\n";
  const std::string path = file(text);
  const Result<model::Profile> profile = opened(path);
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(profile.error().message,
              HasSubstr("statistics that jemalloc prints of itself, without stacks"));
  EXPECT_EQ(profile.error().remedy, "fathom report " + path);
  std::string statistics;
  NameOptions names("");
  names.statistics = &statistics;
  EXPECT_FALSE(open_profile(path, names));
  EXPECT_EQ(statistics, text);
}

TEST_F(OpenProfile, MissingNamesComeFromTheGivenReader) {
  const std::string path = folder_ + "/unnamed.fathom";
  ASSERT_TRUE(store::Writer::create(path).value().finish(recording_without_names()));
  const auto lines_of = [&](const std::string& reader) {
    const Result<model::Profile> read = open_profile(path, NameOptions(reader));
    return read && read->frames.size() == 1 ? static_cast<int>(read->frames[0].line_count) : -1;
  };
  EXPECT_GE(lines_of(""), 1) << "this process";
  EXPECT_EQ(lines_of("/bin/false"), 0) << "a reader that never answers, and nobody in its place";
}

TEST_F(OpenProfile, FilesNotSearchedForNamesAreReported) {
  const std::string path = folder_ + "/unnamed.fathom", deep = "/1/2/3/4/5/6/7/8/9/10/11";
  ASSERT_TRUE(store::Writer::create(path).value().finish(recording_without_names()));
  std::filesystem::create_directories(folder_ + "/names" + deep);
  std::vector<std::string> told;
  NameOptions names("");
  names.symbol_directory = folder_ + "/names";
  names.tell = [&](const std::string& text) { told.push_back(text); };
  ASSERT_TRUE(open_profile(path, names));
  EXPECT_THAT(told,
              testing::ElementsAre(HasSubstr("names are more than 10 levels deep and were not searched"),
                                   HasSubstr("no file that was looked at in ")));
}

TEST_F(OpenProfile, AFolderWithNamesIsRejectedIfNothingHasAnAddress) {
  NameOptions names("");
  names.symbol_directory = folder_;
  const Result<model::Profile> read = open_profile(file("main;f 3\n"), names);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("--symbols needs addresses, and this file has names only"));
}

TEST_F(OpenProfile, AMissingFileAndAFolderAreErrors) {
  EXPECT_EQ(opened(folder_ + "/nothing").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(opened("last:3").error().remedy, "the folder with the dumps, and --merge last:3");
  EXPECT_THAT(opened(folder_).error().message, HasSubstr("this is a folder"));
}

TEST_F(OpenProfile, EveryPrefixOfARecordingIsReadOrRejectedInOneLine) {
  const std::string path = folder_ + "/whole";
  ASSERT_TRUE(store::Writer::create(path).value().finish(analysis::small_server()));
  std::ifstream in(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(in)), {});
  for (std::size_t length = 0; length < content.size(); length += 7) {
    const Result<model::Profile> read = opened(file(content.substr(0, length)));
    if (!read) {
      EXPECT_EQ(read.error().message.find('\n'), std::string::npos) << length;
    }
  }
}

// More text than is needed to recognize it, so that it arrives in pieces that end in the middle of lines.
TEST_F(OpenProfile, ATextReadsTheSameFromAFileFromAPipeAndPacked) {
  std::string folded, perf_script;
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = std::to_string(i % 977);
    folded += "worker-" + std::to_string(i % 3) + ";main;run;f" + name + ' ' + std::to_string(i) + '\n';
    perf_script += "worker 1/" + std::to_string(i % 3) + " [000] 5." + std::to_string(100'000 + i) + ": " +
                   std::to_string(1 + i) + " cycles:\n\t1f f" + name +
                   "+0x1 (/usr/bin/a)\n\t2f main (/usr/bin/a)\n\n";
  }
  for (const std::string& text : {folded, perf_script}) {
    const Result<model::Profile> whole = opened(file(text));
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_EQ(whole->samples.size(), 20'000u);
    for (const packed::Packing packing : {packed::Packing::kGzip, packed::Packing::kZstd}) {
      packed::Packer packer(packing);
      packer.add(text);
      const Result<model::Profile> packed = opened(file(packer.finish().value()));
      ASSERT_TRUE(packed) << packed.error().message;
      EXPECT_TRUE(*packed == *whole);
    }
    std::filesystem::remove(folder_ + "/x");
    ASSERT_EQ(::mkfifo((folder_ + "/x").c_str(), 0600), 0);
    std::thread writer([&] { std::ofstream(folder_ + "/x", std::ios::binary) << text; });
    const Result<model::Profile> piped = opened(folder_ + "/x");
    writer.join();
    std::filesystem::remove(folder_ + "/x");
    ASSERT_TRUE(piped) << piped.error().message;
    EXPECT_TRUE(*piped == *whole);
  }
}

}  // namespace
}  // namespace fathom::open
