// Options that name several things at once, run as a user types them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/core/heap.h"
#include "analysis/heap/hand_made_heap.h"
#include "analysis/waits/hand_made_waits.h"
#include "base/shell_word.h"
#include "cli/testing_program.h"
#include "model/marks.h"

namespace fathom::cli {
namespace {

class Options : public Cli {
 protected:
  std::string write(const std::string& name, const model::Profile& profile) const {
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(store::Writer::create(path).value().finish(profile));
    return path;
  }
  // In the folder of the test.
  Outcome run_here(const std::string& line) {
    return run_program(
        "/bin/sh", {"-c", "cd " + shell_word(folder_) + " && exec " + shell_word(FATHOM_BINARY) + " " + line},
        "/dev/null");
  }
};

TEST_F(Options, ShowPrintsWhatTheFlagsPrint) {
  const std::string file = write("waits.fathom", analysis::waiting_server());
  const Outcome shown = run({"report", "--show", "waits,locks", file, "--show", "threads"});
  EXPECT_EQ(shown.status, 0) << shown.error;
  EXPECT_EQ(shown.out, run({"report", file, "--threads", "--waits", "--locks"}).out);
  EXPECT_THAT(shown.out, HasSubstr("\nThreads"));
  EXPECT_EQ(run({"report", file, "--show", "tree"}).out, run({"report", file, "--tree"}).out);
  EXPECT_EQ(run({"report", file, "--show", "functions"}).out, run({"report", file, "--top", "20"}).out);
}

TEST_F(Options, AFileBehindAPatternIsAFile) {
  for (const char* option : {"--focus", "--ignore", "--callers", "--hide"})
    EXPECT_EQ(run({"report", option, "ksys_write", recording_}).out,
              run({"report", recording_, option, "ksys_write"}).out)
        << option;
}

TEST_F(Options, ShowChoosesTheTablesOfJson) {
  const std::string file = write("waits.fathom", analysis::waiting_server());
  const auto shown = nlohmann::json::parse(run({"report", file, "--json", "--show", "locks"}).out);
  EXPECT_TRUE(shown.contains("locks"));
  EXPECT_TRUE(shown.contains("quality"));
  EXPECT_FALSE(shown.contains("functions"));
  EXPECT_FALSE(shown.contains("waits"));
  const auto flag = nlohmann::json::parse(run({"report", file, "--json", "--locks"}).out);
  EXPECT_TRUE(flag.contains("functions"))
      << "scripts that read more than one table with a flag go on to work";
}

TEST_F(Options, ShowRefusesWhatItCannotPrint) {
  const Outcome unknown = run({"report", recording_, "--show", "waits,lock"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.error, HasSubstr("there is no table 'lock'"));
  EXPECT_THAT(unknown.error, HasSubstr("waits, locks, files, functions"));
  const Outcome two = run({"report", recording_, "--show", "calls,waits"});
  EXPECT_EQ(two.status, 2);
  EXPECT_THAT(two.error, HasSubstr("calls is a report of its own"));
  EXPECT_THAT(run({"report", recording_, "--show", "waits"}).error, HasSubstr("waiting was not recorded"));
  EXPECT_THAT(run({"report", recording_, "--show", "memory"}).error, HasSubstr("memory were not recorded"));
}

TEST_F(Options, AMarkIsATime) {
  model::Profile profile = analysis::small_server();
  profile.meta.facts[model::kMarksFact] =
      model::mark_line(2, "load") + "\n" + model::mark_line(5, "idle") + "\n";
  const std::string file = write("marks.fathom", profile);
  const auto window = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all{"report", file, "--json"};
    all.insert(all.end(), words.begin(), words.end());
    return nlohmann::json::parse(run(all).out).at("selection").dump();
  };
  EXPECT_EQ(window({"--from", "load", "--until", "idle"}), window({"--from", "2", "--until", "5s"}));
  EXPECT_THAT(window({"--from", "load"}), HasSubstr("2"));
  const Outcome unknown = run({"report", file, "--from", "lunch"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.error, HasSubstr("'load', 'idle'"));
}

TEST_F(Options, ANameThatPromisesAnotherKindOfFileIsRefused) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"flamegraph", recording_, "-o", folder_ + "/x.pdf"},
           {"timeline", recording_, "-o", folder_ + "/x.png"},
           {"report", recording_, "-o", folder_ + "/x.json"},
           {"leaks", recording_, "-o", folder_ + "/x.html"},
           {"diff", recording_, recording_, "-o", folder_ + "/x.svg"},
           {"view", recording_, "--html", folder_ + "/x.svg"},
           {"export", recording_, "--to", "folded", "-o", folder_ + "/x.pdf"}}) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.status, 2) << words[0];
    EXPECT_THAT(outcome.error, HasSubstr("this command writes ")) << words[0];
    EXPECT_FALSE(std::filesystem::exists(words.back())) << words[0];
  }
  EXPECT_EQ(run({"flamegraph", recording_, "-o", folder_ + "/x.svg"}).status, 0);
  EXPECT_EQ(run({"report", recording_, "--json", "-o", folder_ + "/x.json"}).status, 0);
}

TEST_F(Options, PresetsOfAProjectAreOptionsByName) {
  file(".fathom.toml",
       "[report]\nfew = \"--top 2 --json\"\n[record]\nmine = \"--sources cpu,wait --leaks\"\n");
  EXPECT_EQ(run_here("report server.fathom --preset few").out,
            run_here("report server.fathom --top 2 --json").out);
  EXPECT_EQ(run_here("report server.fathom --preset few --top 3").out,
            run_here("report server.fathom --top 3 --json").out);
  EXPECT_THAT(run_here("record --preset mine -p 1").error, HasSubstr("--leaks needs heap=exact"));
  const Outcome unknown = run_here("record --preset nothing -p 1");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.error, HasSubstr("one of dev, leak, mine, prod, quick"));
  EXPECT_THAT(run_here("help presets").out, HasSubstr("report few"));
  file(".fathom.toml", "nonsense\n");
  EXPECT_THAT(run_here("report server.fathom --preset few").error, HasSubstr(".fathom.toml: line 1"));
  EXPECT_EQ(run_here("report server.fathom").status, 0) << "the file is read only for a preset";
}

TEST_F(Options, SourcesThatClashAreRefusedWithTheListThatFits) {
  for (const auto& [words, remedy] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--sources", "cpu,wait", "--heap"}, "fathom record --sources cpu,wait,heap\n"},
           {{"--sources", "cpu,heap", "--leaks"}, "fathom record --sources cpu,heap=exact\n"},
           {{"--sources", "wait", "--no-off-cpu"}, "without --no-off-cpu\n"},
           {{"--sources", "cpu", "--flight"}, "fathom record --sources cpu,memory\n"},
           {{"--sources", "cpu", "--sources", "wait", "--memory"},
            "fathom record --sources cpu,wait,memory\n"},
           {{"--sources", "waits"},
            "--sources cpu,wait,memory,heap: any of these; heap=exact traces every call\n"},
           {{"--engine", "perf", "-e", "cycles"}, "fathom record without --engine, or without -e\n"}}) {
    std::vector<std::string> all{"record", "-p", "1"};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = run(all);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.error, HasSubstr("\ntry: " + remedy));
  }
}

// The settings for dumps are computed from the rate that a recording has measured.
TEST_F(Options, TheAllocationRateMayBeARecording) {
  const std::string file = write("heap.fathom", analysis::small_heap().profile);
  const analysis::HeapSums sums(analysis::small_heap().profile, {.metric = model::Metric::kHeapAllocated});
  const double rate = sums.total().allocated.bytes.value / sums.window_s();
  const Outcome measured = run({"doctor", "--for", "leak", "--alloc-rate", file});
  EXPECT_EQ(measured.status, 0) << measured.error;
  EXPECT_EQ(measured.out,
            run({"doctor", "--for", "leak", "--alloc-rate", fmt::format("{}", rate / 1e6)}).out);
  EXPECT_THAT(run({"doctor", "--for", "leak", "--alloc-rate", recording_}).error,
              HasSubstr("no allocations over time"));
}

TEST_F(Options, LimitSaysWhoLimitsContainers) {
  const Outcome outcome = run({"limit", "--memory", "1g", "--container", "web", "--", "true"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.error, HasSubstr("docker run --memory SIZE"));
}

}  // namespace
}  // namespace fathom::cli
