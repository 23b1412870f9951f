#include "formats/firefox/firefox.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/import/import_testing.h"

namespace fathom::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kTables = R"json("stringArray": ["main", "run", "a.c", "libkiln.so"],
  "frameTable": {"func": [0, 1], "line": [3, null]},
  "funcTable": {"name": [0, 1], "resource": [0, -1], "source": [0, null]},
  "resourceTable": {"lib": [0], "name": [3]}, "sources": {"filename": [2]})json";

std::string file_of(std::string_view stacks, std::string_view samples) {
  return fmt::format(R"json({{"meta": {{"interval": 2, "startTime": 1000, "preprocessedProfileVersion": 63}},
    "libs": [{{"path": "/opt/libkiln.so"}}], "shared": {{{}, "stackTable": {}}},
    "threads": [{{"name": "worker", "pid": "7", "tid": 8, "processName": "kiln", "samples": {}}}]}})json",
                     kTables, stacks, samples);
}
constexpr std::string_view kByNumber = R"({"frame": [0, 1], "prefix": [null, 0]})";
constexpr std::string_view kByDistance = R"({"frame": [0, 1], "prefixOffset": [0, 1]})";
constexpr std::string_view kThree = R"({"stack": [1, 0, null, 1], "time": [0, 2, 4, 6], "weight": null})";

TEST(Firefox, SamplesCountAtTheRateOfTheProfile) {
  for (const std::string_view stacks : {kByNumber, kByDistance}) {
    ASSERT_TRUE(is_firefox(file_of(stacks, kThree)));
    const model::Profile profile = read_firefox(file_of(stacks, kThree), "x").value();
    EXPECT_THAT(stacks_of(profile), ElementsAre("worker;main 1", "worker;main;run 2"));
    EXPECT_EQ(profile.meta.frequency_hz, 500u);
    EXPECT_EQ(profile.meta.end_ns - profile.meta.start_ns, 6'000'000u);
    EXPECT_EQ(profile.processes[0].pid, 7);
    EXPECT_EQ(profile.threads[0].tid, 8);
    EXPECT_EQ(profile.strings[profile.lines[0].file], "a.c");
  }
}

// From version 56 on the strings are shared by all threads, later one table after the other.
TEST(Firefox, EachTableIsWhereItsVersionHasIt) {
  const std::vector<std::string> tables = {
      R"("stringArray": ["main", "run", "a.c", "libkiln.so"])",
      R"("frameTable": {"func": [0, 1], "line": [3, null]})",
      R"("funcTable": {"name": [0, 1], "resource": [0, -1], "fileName": [2, null]})",
      R"("resourceTable": {"lib": [0], "name": [3]})",
      R"("stackTable": {"frame": [0, 1], "prefix": [null, 0]})"};
  for (std::size_t shared = 0; shared <= tables.size(); ++shared) {
    std::string of_all, of_thread;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      std::string& to = i < shared ? of_all : of_thread;
      to += (to.empty() || i >= shared ? "" : ", ") + tables[i] + (i < shared ? "" : ", ");
    }
    const std::string text = fmt::format(
        R"json({{"meta": {{"interval": 1, "preprocessedProfileVersion": 57}}, "libs": [{{"path": "/opt/libkiln.so"}}],
          "shared": {{{}}}, "threads": [{{{} "name": "a", "samples": {}}}, {{{} "name": "b", "samples": {}}}]}})json",
        of_all, of_thread, kThree, of_thread, kThree);
    const Result<model::Profile> profile = read_firefox(text, "x");
    ASSERT_TRUE(profile) << shared << ": " << profile.error().message;
    EXPECT_THAT(stacks_of(*profile), ElementsAre("a;main 1", "a;main;run 2", "b;main 1", "b;main;run 2"))
        << shared;
  }
}

TEST(Firefox, AnAddressIsNoName) {
  std::string text = file_of(kByNumber, kThree);
  text.replace(text.find("\"run\""), 5, "\"0x104c7\"");
  text.replace(text.find("\"main\""), 6, "\"0x2000\"");
  text.replace(text.find("\"func\": [0, 1]"), 14, "\"func\": [0, 1], \"address\": [4096, -1]");
  text.replace(text.find("\"path\": \"/opt/libkiln.so\""), 25,
               R"("path": "/opt/libkiln.so", "codeId": "0123ABCD")");
  const model::Profile profile = read_firefox(text, "x").value();
  for (const model::Frame& frame : profile.frames) EXPECT_EQ(frame.line_count, 0U) << "no name";
  EXPECT_EQ(profile.frames[0].address.value, 4096U) << "where the library has it";
  EXPECT_EQ(profile.frames[1].address.value, 0x104c7U);
  const model::Module& module = profile.modules[profile.frames[0].module.value];
  EXPECT_EQ(profile.strings[module.path], "/opt/libkiln.so");
  EXPECT_EQ(profile.strings[module.build_id], "0123abcd");
  EXPECT_THAT(profile.quality.notes,
              testing::Contains(HasSubstr("2 places of the file are addresses without a name")));
}

TEST(Firefox, WeightsOfTimeAreNanoseconds) {
  const model::Profile profile =
      read_firefox(file_of(kByNumber, R"({"stack": [1, 0], "timeDeltas": [0, 2], "weight": [1.5, 2],
                                          "weightType": "tracing-ms"})"),
                   "x")
          .value();
  EXPECT_THAT(stacks_of(profile), ElementsAre("worker;main 2000000", "worker;main;run 1500000"));
  EXPECT_EQ(analysis::unit_of(profile, model::Metric::kCpu), "ns");
}

TEST(Firefox, OlderFilesHaveTablesOfEachThread) {
  const std::string text = fmt::format(
      R"json({{"meta": {{"interval": 1, "preprocessedProfileVersion": 50}}, "threads": [{{{}, "stackTable": {},
        "name": "a", "samples": {}}}]}})json",
      kTables, kByNumber, kThree);
  EXPECT_THAT(stacks_of(read_firefox(text, "x").value()), ElementsAre("a;main 1", "a;main;run 2"));
}

TEST(Firefox, DamageIsSaid) {
  const auto refusal = [](std::string_view stacks, std::string_view samples) {
    const auto read = read_firefox(file_of(stacks, samples), "x");
    return read ? "read" : read.error().message;
  };
  EXPECT_THAT(refusal(R"({"frame": [0], "prefix": [0]})", kThree),
              HasSubstr("stack 0 has no such frame or parent"));
  EXPECT_THAT(refusal(R"({"frame": [0], "prefixOffset": [3]})", kThree), HasSubstr("stack 0 has no such"));
  EXPECT_THAT(refusal(R"({"frame": [5], "prefix": [null]})", kThree), HasSubstr("stack 0 has no such"));
  EXPECT_THAT(refusal(kByNumber, R"({"stack": [9]})"), HasSubstr("sample 0 has no such stack"));
  EXPECT_THAT(refusal(kByNumber, R"({"stack": [1], "time": [1e300]})"),
              HasSubstr("times that are not times"));
  EXPECT_THAT(read_firefox(R"({"preprocessedProfileVersion": 1})", "x").error().message,
              HasSubstr("x: a profile of the Firefox Profiler: no threads in it"));
}

}  // namespace
}  // namespace fathom::formats
