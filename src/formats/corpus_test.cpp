// Files of real tools next to the output of these tools for them. The corpus is no part of the repository: the tests run
// where the environment variable FATHOM_FORMATS_CORPUS names its folder. (It is read when the program starts: run it by
// hand, ctest does not know of these tests.) Totals must be the same to the unit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/files.h"
#include "base/packed/unpacker.h"
#include "formats/import/import_testing.h"
#include "formats/json/json.h"
#include "formats/readers.h"

namespace fathom::formats {
namespace {

namespace fs = std::filesystem;
using model::Metric;

std::vector<fs::path> corpus_files(const char* folder, const char* ending) {
  std::vector<fs::path> paths;
  const char* corpus = std::getenv("FATHOM_FORMATS_CORPUS");  // NOLINT(concurrency-mt-unsafe)
  if (corpus == nullptr || !fs::exists(fs::path(corpus) / folder)) return paths;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(corpus) / folder))
    if (entry.path().filename().string().ends_with(ending)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}
std::string name_of(const ::testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.filename();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::string content_of(const fs::path& path) {
  std::string content = read_file(path).value();
  return packed::is_packed(content) ? packed::unpacked(content, path, 1 << 30).value() : content;
}
model::Profile profile_of(const fs::path& path, std::string_view format) {
  const std::string content = content_of(path);
  const Reader* reader = reader_of(content);
  if (reader == nullptr) {
    ADD_FAILURE() << path << ": not recognised";
    return {};
  }
  EXPECT_EQ(reader->format, format);
  auto profile = reader->read(content, path.filename());
  EXPECT_TRUE(profile) << profile.error().message;
  return profile ? std::move(*profile) : model::Profile();
}

// Column by column what `go tool pprof -raw` prints of all samples.
std::map<std::string, std::int64_t> sums_of_raw(const std::string& text) {
  std::map<std::string, std::int64_t> sums;
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line != "Locations";) {
    std::istringstream words(line);
    if (line.find('/') != std::string::npos && names.empty() && !line.starts_with(' ')) {
      for (std::string word; words >> word;) names.push_back(word.substr(0, word.find('/')));
    } else if (line.starts_with(' ') && line.find("[") == std::string::npos) {
      for (const std::string& name : names) {
        std::int64_t value = 0;
        words >> value;
        sums[name] += value;
      }
    }
  }
  return sums;
}

std::optional<Metric> metric_of(const std::string& column) {
  static const std::map<std::string, Metric> kMetrics{
      {"samples", Metric::kCpu},
      {"cpu", Metric::kCpu},
      {"delay", Metric::kOffCpu},
      {"goroutine", Metric::kCpu},
      {"threadcreate", Metric::kCpu},
      {"alloc_space", Metric::kHeapAllocated},
      {"alloc_objects", Metric::kHeapAllocations},
      {"inuse_space", Metric::kHeapLive},
  };
  const auto found = kMetrics.find(column);
  return found == kMetrics.end() ? std::nullopt : std::optional(found->second);
}

class PprofCorpus : public ::testing::TestWithParam<fs::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PprofCorpus);
INSTANTIATE_TEST_SUITE_P(All, PprofCorpus, ::testing::ValuesIn(corpus_files("pprof", ".pb.gz")), name_of);

TEST_P(PprofCorpus, HasTheTotalsThatGosOwnToolPrints) {
  const model::Profile profile = profile_of(GetParam(), "pprof");
  fs::path raw = GetParam();
  raw.replace_extension().replace_extension(".raw.txt");
  const auto sums = sums_of_raw(read_file(raw).value());
  // No thread was created while this one was taken.
  EXPECT_EQ(sums.empty(), GetParam().filename() == "threadcreate.pb.gz");
  for (const auto& [name, sum] : sums) {
    SCOPED_TRACE(name);
    const auto metric = metric_of(name);
    if (!metric) continue;
    const double scale = name == "cpu" ? analysis::sample_period_ns(profile) : 1;
    EXPECT_EQ(static_cast<double>(total_of(profile, *metric)) * scale, static_cast<double>(sum));
  }
}

// What `heaptrack_print -F` writes of one cost: its sum.
std::int64_t sum_of_folded(const fs::path& path) {
  std::istringstream lines(read_file(path).value());
  std::int64_t sum = 0;
  for (std::string line; std::getline(lines, line);)
    sum += std::strtoll(line.c_str() + line.rfind(' ') + 1, nullptr, 10);
  return sum;
}

// Where heaptrack_print has read the file; the other two are the same recording, packed otherwise and not yet interpreted.
using Printed = std::pair<const char*, const char*>;
class HeaptrackCorpus : public ::testing::TestWithParam<Printed> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(HeaptrackCorpus);
std::vector<Printed> heaptrack_files() {
  if (corpus_files("heaptrack", ".zst").empty()) return {};
  return {{"ledger.zst", "ledger.zst"},
          {"ledger.gz", "ledger.zst"},
          {"ledger-raw.interpreted.gz", "ledger-raw.interpreted.gz"},
          {"ledger-raw.raw.zst", "ledger-raw.interpreted.gz"}};
}
INSTANTIATE_TEST_SUITE_P(All, HeaptrackCorpus, ::testing::ValuesIn(heaptrack_files()));

TEST_P(HeaptrackCorpus, HasTheCostsThatHeaptrackPrints) {
  const fs::path folder = corpus_files("heaptrack", "ledger.zst").front().parent_path();
  const model::Profile profile = profile_of(folder / GetParam().first, "heaptrack");
  const auto printed = [&](const char* cost) {
    return sum_of_folded(folder / fmt::format("{}.{}.folded", GetParam().second, cost));
  };
  EXPECT_EQ(total_of(profile, Metric::kHeapAllocations), printed("allocations"));
  EXPECT_EQ(total_of(profile, Metric::kHeapPeak), printed("peak"));
  // heaptrack hides leaks that it has rules for ("suppressed leaks: 4.00K" of the first file), and takes the free of the first
  // allocation of a file for that of a temporary one where it comes behind another free.
  const std::int64_t suppressed = std::string_view(GetParam().second) == "ledger.zst" ? 4'000 : 0;
  EXPECT_EQ(total_of(profile, Metric::kHeapLive), printed("leaked") + suppressed);
  EXPECT_EQ(total_of(profile, Metric::kHeapTemporary), printed("temporary") - 1);
}

double sum_of_sizes(const Json& node) {
  double sum = number_of(member(node, "selfSize"));
  for (const Json& child : member(node, "children")) sum += sum_of_sizes(child);
  return sum;
}

class V8Corpus : public ::testing::TestWithParam<fs::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(V8Corpus);
INSTANTIATE_TEST_SUITE_P(All, V8Corpus, ::testing::ValuesIn(corpus_files("v8", "profile")), name_of);

// There is no tool that prints sums of these: they are in the file.
TEST_P(V8Corpus, HasTheTimeAndTheBytesOfItsFile) {
  const Json json = parse_json(content_of(GetParam()), "x").value();
  if (GetParam().extension() == ".cpuprofile") {
    const model::Profile profile = profile_of(GetParam(), "cpuprofile");
    const double all = number_of(member(json, "endTime")) - number_of(member(json, "startTime"));
    const double before = number_of(element(member(json, "timeDeltas"), 0));
    EXPECT_EQ(static_cast<double>(total_of(profile, Metric::kWall)), (all - before) * 1e3);
  } else {
    const model::Profile profile = profile_of(GetParam(), "heapprofile");
    EXPECT_EQ(static_cast<double>(total_of(profile, Metric::kHeapLive)), sum_of_sizes(member(json, "head")));
  }
}

class SpeedscopeCorpus : public ::testing::TestWithParam<fs::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SpeedscopeCorpus);
INSTANTIATE_TEST_SUITE_P(All, SpeedscopeCorpus, ::testing::ValuesIn(corpus_files("speedscope", ".json")),
                         name_of);

// The same in three profiles and, as folded stacks of percents, next to the file.
TEST_P(SpeedscopeCorpus, HasTheSharesOfTheStacksBesideIt) {
  const model::Profile profile = profile_of(GetParam(), "speedscope");
  const model::Profile folded = profile_of(GetParam().parent_path() / "fixture.collapsed.txt", "folded");
  EXPECT_EQ(total_of(profile, Metric::kCpu), total_of(folded, Metric::kCpu) * 1'000'000);
}

class DhatCorpus : public ::testing::TestWithParam<fs::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DhatCorpus);
INSTANTIATE_TEST_SUITE_P(All, DhatCorpus, ::testing::ValuesIn(corpus_files("dhat", "dhat.out.ledger")),
                         name_of);

// "==1== Total:     12,727,036 bytes in 27,032 blocks"
std::int64_t number_after(const std::string& text, const std::string& word) {
  std::int64_t number = 0;
  for (std::size_t at = text.find(word) + word.size(); at < text.size() && text[at] != 'b'; ++at)
    if (std::isdigit(static_cast<unsigned char>(text[at])) != 0) number = number * 10 + (text[at] - '0');
  return number;
}

TEST_P(DhatCorpus, HasTheSumsThatValgrindPrints) {
  const model::Profile profile = profile_of(GetParam(), "dhat");
  const std::string summary = read_file(GetParam().string() + ".summary.txt").value();
  EXPECT_EQ(total_of(profile, Metric::kHeapAllocated), number_after(summary, "Total:"));
  EXPECT_EQ(total_of(profile, Metric::kHeapPeak), number_after(summary, "At t-gmax:"));
  EXPECT_EQ(total_of(profile, Metric::kHeapLive), number_after(summary, "At t-end:"));
}

class GperftoolsCorpus : public ::testing::TestWithParam<fs::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GperftoolsCorpus);
INSTANTIATE_TEST_SUITE_P(All, GperftoolsCorpus, ::testing::ValuesIn(corpus_files("gperftools", "kiln.prof")),
                         name_of);

// "Total: 102 samples"
TEST_P(GperftoolsCorpus, HasTheSamplesThatItsOwnToolPrints) {
  const model::Profile profile = profile_of(GetParam(), "gperftools CPU profile");
  const std::string printed = read_file(GetParam().string() + ".text.txt").value();
  EXPECT_EQ(total_of(profile, Metric::kCpu), std::atoll(printed.c_str() + printed.find("Total:") + 6));
}

class FirefoxCorpus : public ::testing::TestWithParam<fs::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FirefoxCorpus);
INSTANTIATE_TEST_SUITE_P(All, FirefoxCorpus, ::testing::ValuesIn(corpus_files("firefox", ".json")), name_of);

// profiler-cli: 100 samples, main 100 %, run 95 %, parse 50 %.
TEST_P(FirefoxCorpus, HasTheSamplesThatTheProfilerShows) {
  EXPECT_EQ(stacks_of(profile_of(GetParam(), "firefox")),
            (std::vector<std::string>{"main;main;idle_wait 5", "main;main;run 15", "main;main;run;hash 30",
                                      "main;main;run;parse 50"}));
}

class MassifCorpus : public ::testing::TestWithParam<fs::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MassifCorpus);
std::vector<fs::path> massif_files() {
  std::vector<fs::path> paths;
  for (const fs::path& path : corpus_files("massif", ".ms_print.txt"))
    paths.push_back(path.parent_path() / path.stem().stem());
  return paths;
}
INSTANTIATE_TEST_SUITE_P(All, MassifCorpus, ::testing::ValuesIn(massif_files()), name_of);

// "12      3,266        2,800,216        2,561,484          238,732            0", with "8 (peak)" in the line above the table.
TEST_P(MassifCorpus, HasThePeakThatMsPrintPrints) {
  const model::Profile profile = profile_of(GetParam(), "massif");
  const std::string printed = read_file(GetParam().string() + ".ms_print.txt").value();
  const std::size_t mark = printed.find(" (peak)");
  ASSERT_NE(mark, std::string::npos);
  const std::size_t from = printed.find_last_of(" [", mark - 1) + 1;
  const std::string number = printed.substr(from, mark - from);
  std::istringstream lines(printed);
  double useful = -1;
  for (std::string line; std::getline(lines, line);) {
    std::erase(line, ',');
    std::istringstream words(line);
    std::string row;
    double time = 0, total = 0, bytes = 0, extra = 0, stacks = 0;
    if (words >> row >> time >> total >> bytes >> extra >> stacks && row == number) useful = bytes;
  }
  EXPECT_EQ(static_cast<double>(total_of(profile, Metric::kHeapPeak)), useful);
  EXPECT_EQ(profile.heap.heaps[0].peak_bytes, useful);
}

class PerfDataCorpus : public ::testing::TestWithParam<fs::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PerfDataCorpus);
INSTANTIATE_TEST_SUITE_P(All, PerfDataCorpus, ::testing::ValuesIn(corpus_files("perf", ".data")), name_of);

// By thread, what perf script prints of the same file.
TEST_P(PerfDataCorpus, HasTheSamplesThatPerfScriptPrints) {
  const model::Profile profile = profile_of(GetParam(), "perf.data");
  fs::path script = GetParam();
  const model::Profile printed = profile_of(script.replace_extension(".script.txt"), "perf script");
  const auto by_thread = [](const model::Profile& of) {
    std::map<std::pair<std::int32_t, std::string>, std::int64_t> sums;
    for (const model::Sample& row : of.samples) {
      const model::Thread& thread = of.threads[row.thread.value];
      sums[{thread.tid, std::string(of.strings[thread.name])}] += row.value;
    }
    return sums;
  };
  EXPECT_EQ(profile.samples.size() + profile.quality.switches, printed.samples.size());
  // Where switches have ends they are waits, and their times are in no line of the text.
  if (profile.waits.empty()) {
    EXPECT_EQ(by_thread(profile), by_thread(printed));
  }
  const auto text_ns = [](const model::Profile& of) { return of.meta.end_ns / 1000; };
  EXPECT_EQ(text_ns(profile), text_ns(printed));
}

}  // namespace
}  // namespace fathom::formats
