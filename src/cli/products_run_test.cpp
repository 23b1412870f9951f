// Every command that takes a file with a file of every format that is read, however it comes; every format that is written, of
// every kind of profile, twice.
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <thread>

#include "analysis/heap/hand_made_heap.h"
#include "base/packed/packer.h"
#include "cli/testing_one_of_each.h"
#include "cli/testing_program.h"
#include "formats/readers.h"
#include "linux/metrics/testing_http_server.h"

namespace fathom::cli {
namespace {

class Products : public Cli {
 protected:
  Products() {
    heap_ = folder_ + "/heap.fathom";
    EXPECT_TRUE(store::Writer::create(heap_).value().finish(analysis::small_heap().profile));
  }

  static std::string packed(std::string_view content, packed::Packing packing) {
    packed::Packer packer(packing);
    packer.add(content);
    return packer.finish().value();
  }

  // What the formats are that fathom writes itself is written by it.
  std::vector<FileOfFormat> one_of_each() {
    std::vector<FileOfFormat> files = hand_made_files();
    for (const auto& [format, name, heap] :
         {std::tuple("pprof", "x.pb", false), std::tuple("firefox", "x.firefox.json", false),
          std::tuple("speedscope", "x.speedscope.json", false),
          std::tuple("heaptrack", "x.heaptrack", true)}) {
      const std::string path = folder_ + "/" + name;
      const Outcome outcome = run({"export", heap ? heap_ : recording_, "-o", path});
      EXPECT_EQ(outcome.status, 0) << format << outcome.error;
      files.push_back({format, read_file(path).value(), heap});
    }
    files.push_back({"recording", read_file(recording_).value(), false});
    files.push_back({"recording", read_file(heap_).value(), true});
    return files;
  }

  // With the content at the other end of a pipe.
  Outcome run_with_pipe(const std::vector<std::string>& arguments, const std::string& content) {
    const std::string pipe = folder_ + "/pipe";
    EXPECT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] {
      // A command that refuses ends without reading.
      sigset_t closed;
      ::sigemptyset(&closed);
      ::sigaddset(&closed, SIGPIPE);
      ::pthread_sigmask(SIG_BLOCK, &closed, nullptr);
      std::ofstream(pipe, std::ios::binary) << content;
    });
    Outcome outcome = run(arguments, pipe);
    writer.join();
    std::filesystem::remove(pipe);
    return outcome;
  }

  std::string heap_;
};

TEST_F(Products, ThereIsAFileOfEveryReader) {
  std::set<std::string> made;
  for (const FileOfFormat& file : one_of_each()) {
    made.insert(file.format);
    if (file.format == "recording" || file.format.starts_with("jemalloc")) continue;
    const formats::Reader* reader = formats::reader_of(file.content);
    ASSERT_NE(reader, nullptr) << file.format;
    EXPECT_EQ(reader->format, file.format);
  }
  for (const formats::Reader& reader : formats::readers())
    EXPECT_TRUE(made.contains(std::string(reader.format))) << reader.format;
}

TEST_F(Products, EveryCommandReadsEveryFormatHoweverItComes) {
  struct Command {
    std::vector<std::string> words;  // "FILE" stands for the input
    std::set<int> of_cpu, of_heap;   // exit statuses
  };
  const std::vector<Command> commands = {
      {{"report", "FILE"}, {0}, {0}},
      {{"report", "FILE", "--json"}, {0}, {0}},
      {{"flamegraph", "FILE", "-o", folder_ + "/out.svg"}, {0}, {0}},
      {{"view", "FILE", "--html", folder_ + "/out.html"}, {0}, {0}},
      {{"export", "FILE", "--to", "folded"}, {0}, {0}},
      {{"export", "FILE", "--to", "html", "-o", folder_ + "/export.html"}, {0}, {0}},
      {{"merge", folder_ + "/out.fathom", "FILE", "--force"}, {0}, {0}},
      {{"leaks", "FILE"}, {3}, {0, 3, 5}},  // 3: where it is not known what was freed
      {{"timeline", "FILE", "-o", folder_ + "/out.timeline.svg"}, {3}, {0, 3}},
      // Refusals: there is no terminal here, and no log.
      {{"tui", "FILE"}, {2}, {2}},
      {{"oom", "FILE"}, {3}, {3}},
      {{"push", "FILE", "--parquet", folder_ + "/pushed"}, {0, 1}, {0, 3}},  // 1: instructions
      {{"symbolize", "FILE", "--symbols", folder_ + "/symbols", "-o", folder_ + "/out.named", "--force"},
       {0, 1, 2, 3},
       {0, 1, 2, 3}},
  };
  std::filesystem::create_directory(folder_ + "/symbols");
  for (const FileOfFormat& of : one_of_each()) {
    const std::string plain = file("in", of.content),
                      gz = file("in.gz", packed(of.content, packed::Packing::kGzip)),
                      zst = file("in.zst", packed(of.content, packed::Packing::kZstd));
    for (const Command& command : commands) {
      const auto words = [&](const std::string& input) {
        std::vector<std::string> all = command.words;
        std::ranges::replace(all, std::string("FILE"), input);
        return all;
      };
      const std::vector<std::pair<std::string, Outcome>> outcomes = {
          {"file", run(words(plain))},
          {"gz", run(words(gz))},
          {"zst", run(words(zst))},
          {"-", run(words("-"), plain)},
          {"pipe", run_with_pipe(words("-"), of.content)},
      };
      for (const auto& [way, outcome] : outcomes) {
        const std::set<int>& expected = of.is_heap ? command.of_heap : command.of_cpu;
        EXPECT_TRUE(expected.contains(outcome.status))
            << fmt::format("{} {} of {} as {}: {}", command.words[0], command.words[2 % command.words.size()],
                           of.format, way, outcome.status)
            << outcome.error;
        EXPECT_EQ(outcome.status, outcomes.front().second.status) << command.words[0] << of.format << way;
        if (outcome.status == 0 || outcome.status == 5) continue;
        EXPECT_THAT(outcome.error, HasSubstr("\ntry: "))
            << command.words[0] << " of " << of.format << " as " << way;
      }
    }
    for (const auto& [status, words] :
         {std::pair(1, std::vector<std::string>{"stacks", plain}),
          std::pair(2, std::vector<std::string>{"list", plain}),
          std::pair(2, std::vector<std::string>{"clean", plain, "--max-size", "0"})}) {
      const Outcome refused = run(words);
      EXPECT_EQ(refused.status, status) << words[0] << " of " << of.format << refused.error;
      EXPECT_THAT(refused.error, HasSubstr("\ntry: ")) << words[0] << " of " << of.format;
    }
    const Outcome compared = run({"diff", plain, gz});
    EXPECT_EQ(compared.status, 0) << "diff of " << of.format << compared.error;
  }
}

// A store of fathom serve, a folder with Parquet files and a profile server are inputs as files are; a core file is one of a single command.
TEST_F(Products, EveryCommandReadsOrRefusesWhatIsNoProfileInAFile) {
  std::filesystem::create_directories(folder_ + "/store/server");
  std::filesystem::copy_file(recording_, folder_ + "/store/server/20261127T085700.020Z-60.040s.fathom");
  ASSERT_EQ(run({"push", "--parquet", folder_ + "/dataset", recording_}).status, 0);
  ASSERT_EQ(run({"export", recording_, "-o", folder_ + "/served.pb"}).status, 0);
  const std::string served = read_file(folder_ + "/served.pb").value();
  const metrics::TestingHttpServer server(
      [&](const std::string&) { return metrics::http_answer(200, served); });
  std::string core(
      "\x7f"
      "ELF\2\1\1\0\0\0\0\0\0\0\0\0\4\0",
      18);
  core.resize(4096);
  struct Input {
    std::string name;
    bool is_profile, is_folder;
  };
  const std::vector<Input> inputs = {
      {folder_ + "/store", true, true},
      {folder_ + "/store?target=server", true, false},
      {folder_ + "/dataset", true, true},
      {folder_ + "/dataset?service=hand", true, false},
      {fmt::format("pyroscope://127.0.0.1:{}?service=server", server.address().port), true, false},
      {file("core", core), false, false},
  };
  struct Command {
    std::vector<std::string> words;  // "INPUT" stands for the input
    std::set<int> of_profile, of_core;
  };
  const std::vector<Command> commands = {
      {{"report", "INPUT"}, {0}, {1}},
      {{"report", "INPUT", "--json"}, {0}, {1}},
      {{"flamegraph", "INPUT", "-o", folder_ + "/out.svg"}, {0}, {1}},
      {{"view", "INPUT", "--html", folder_ + "/out.html"}, {0}, {1}},
      {{"export", "INPUT", "--to", "folded"}, {0}, {1}},
      {{"export", "INPUT", "--to", "otlp", "--experimental"}, {0}, {1}},
      {{"merge", folder_ + "/out.fathom", "INPUT", "--force"}, {0}, {1}},
      {{"diff", "INPUT", "INPUT"}, {0}, {1}},
      {{"push", "INPUT", "--parquet", folder_ + "/pushed"}, {0}, {1}},
      {{"leaks", "INPUT"}, {3}, {1}},
      {{"timeline", "INPUT", "-o", folder_ + "/out.timeline.svg"}, {3}, {1}},
      {{"symbolize", "INPUT", "--symbols", folder_ + "/symbols", "-o", folder_ + "/out.named"}, {1, 3}, {1}},
      {{"tui", "INPUT"}, {2}, {2}},
      {{"oom", "INPUT"}, {1, 3}, {3}},
      {{"stacks", "INPUT"}, {1, 3}, {1}},
  };
  std::filesystem::create_directory(folder_ + "/symbols");
  for (const Input& input : inputs) {
    const auto outcome_of = [&](std::vector<std::string> words, const std::set<int>& expected) {
      std::ranges::replace(words, std::string("INPUT"), input.name);
      const Outcome outcome = run(words);
      EXPECT_TRUE(expected.contains(outcome.status))
          << words[0] << " of " << input.name << ": " << outcome.status << outcome.error;
      if (outcome.status == 0) return;
      EXPECT_THAT(outcome.error, HasSubstr("\ntry: ")) << words[0] << " of " << input.name;
    };
    for (const Command& command : commands)
      outcome_of(command.words, input.is_profile ? command.of_profile : command.of_core);
    outcome_of({"list", "INPUT"}, input.is_folder ? std::set{0} : std::set{2, 3});
    outcome_of({"clean", "INPUT", "--older", "9999d", "--dry-run"},
               input.is_folder ? std::set{0} : std::set{2, 3});
  }
  EXPECT_THAT(run({"report", folder_ + "/store", "--metric", "heap-live"}).error,
              HasSubstr("fathom serve recorded no heap in this time\ntry: fathom serve --heap"));
  EXPECT_THAT(run({"report", folder_ + "/core"}).error, HasSubstr("\ntry: fathom stacks "));
}

// The table of the heap itself has bytes only, and the most live first.
TEST_F(Products, AnOrderOrUnitOfTheHeapIsShown) {
  EXPECT_THAT(run({"report", heap_, "--metric", "heap-live", "--unit", "blocks"}).out,
              testing::ContainsRegex("by function \\(% of [0-9,]+ blocks\\)"));
  EXPECT_THAT(run({"report", heap_, "--metric", "heap-live", "--sort", "total"}).out, HasSubstr("cum %"));
}

TEST_F(Products, WhatIsWrittenIsReplacedTheSecondTime) {
  const std::string imported = file("imported.folded", "app;main;work 90\napp;main;rest 10\n");
  struct Format {
    const char* name;
    std::vector<std::string> endings;
    bool of_cpu, of_heap;
  };
  const std::vector<Format> formats = {
      {"callgraph", {"", ".svg"}, true, true},
      {"callgrind", {"", ".gz", ".zst"}, true, true},
      {"dot", {""}, true, true},
      {"firefox", {"", ".gz", ".zst"}, true, true},
      {"folded", {""}, true, true},
      {"heaptrack", {"", ".gz", ".zst"}, false, true},
      {"html", {""}, true, true},
      {"json", {"", ".gz", ".zst"}, true, true},
      {"massif", {""}, false, true},
      {"ms_print", {""}, false, true},
      {"perfetto", {"", ".gz", ".zst"}, true, true},
      {"pprof", {"", ".gz", ".zst", ".pb"}, true, true},
      {"speedscope", {"", ".gz", ".zst"}, true, true},
      {"sql", {"", ".gz", ".zst"}, true, true},
  };
  for (const Format& format : formats)
    for (const std::string& ending : format.endings)
      for (const auto& [kind, input] :
           {std::pair("cpu", recording_), std::pair("heap", heap_), std::pair("imported", imported)}) {
        if (input == heap_ ? !format.of_heap : !format.of_cpu) continue;
        const std::string path = fmt::format("{}/{}-{}{}", folder_, format.name, kind, ending);
        for (const char* night : {"first", "second"}) {
          const Outcome outcome = run({"export", input, "--to", format.name, "-o", path});
          EXPECT_EQ(outcome.status, 0)
              << format.name << ending << " of " << kind << ", the " << night << " time: " << outcome.error;
        }
      }
}

// Pictures, pages and JSON of other commands, likewise. Text for people has no mark, and takes --force.
TEST_F(Products, ResultsOfOtherCommandsAreReplacedTheSecondTime) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> commands = {
      {"report.json", {"report", recording_, "--json"}},
      {"diff.json", {"diff", recording_, recording_, "--json"}},
      {"leaks.json", {"leaks", heap_, "--no-fail", "--json"}},
      {"flame.svg", {"flamegraph", recording_}},
      {"timeline.svg", {"timeline", heap_}},
      {"report.txt", {"report", recording_, "--force"}},
  };
  for (const auto& [name, words] : commands)
    for (const char* night : {"first", "second"}) {
      std::vector<std::string> all = words;
      all.insert(all.end(), {"-o", folder_ + "/nightly-" + name});
      const Outcome outcome = run(all);
      EXPECT_EQ(outcome.status, 0) << name << ", the " << night << " time: " << outcome.error;
    }
  for (const char* night : {"first", "second"})
    EXPECT_EQ(run({"view", recording_, "--html", folder_ + "/nightly.html"}).status, 0) << night;
  EXPECT_EQ(run({"report", recording_, "-o", folder_ + "/nightly-report.txt"}).status, 2);
}

TEST_F(Products, AnotherKindOfFileIsNotReplaced) {
  const std::vector<std::pair<std::string, std::string>> precious = {
      {"main.cpp", "int main() {}\n"},
      {"notes.txt", "Buy milk.\nCall 5\nCall him.\n"},
      {"table.csv", "a,b,c\n1,2,3\n"},
      {"data.json", "{\"meta\": 1}\n"},
      {"other.dot", "digraph G {\n  a -> b;\n}\n"},
      {"query.sql", "SELECT 1;\n"},
      {"callgrind.out.7", "version: 1\ncreator: callgrind-3.19.0\nevents: Ir\nfn=f\n1 5\n"},
      {"binary", std::string("\x0a\x05hello", 7)},
      {"x.gz", packed("int main() {}\n", packed::Packing::kGzip)},
  };
  for (const auto& [name, content] : precious) {
    const std::string path = file(name, content);
    for (const char* format : {"callgrind", "dot", "firefox", "folded", "json", "perfetto", "pprof",
                               "speedscope", "sql", "html"}) {
      EXPECT_EQ(run({"export", recording_, "--to", format, "-o", path}).status, 2)
          << format << " over " << name;
      EXPECT_EQ(read_file(path).value(), content) << format << " over " << name;
    }
  }
}

}  // namespace
}  // namespace fathom::cli
