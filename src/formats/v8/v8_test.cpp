#include "formats/v8/v8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/import/import_testing.h"

namespace fathom::formats {
namespace {

using model::Metric;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kMill = R"json({"nodes": [
  {"id": 1, "callFrame": {"functionName": "(root)", "url": "", "lineNumber": -1}, "hitCount": 0, "children": [2, 3, 4]},
  {"id": 2, "callFrame": {"functionName": "(idle)", "url": "", "lineNumber": -1}, "hitCount": 1},
  {"id": 3, "callFrame": {"functionName": "grind", "url": "file:///mill.js", "lineNumber": 4}, "hitCount": 2,
   "children": [5]},
  {"id": 4, "callFrame": {"functionName": "(garbage collector)", "url": "", "lineNumber": -1}, "hitCount": 1},
  {"id": 5, "callFrame": {"functionName": "", "url": "file:///mill.js", "lineNumber": 8}, "hitCount": 1}],
  "startTime": 1000, "endTime": 2000, "samples": [3, 5, 2, 4, 3], "timeDeltas": [100, 50, 200, 300, 150]})json";

TEST(CpuProfile, ASampleLastsUntilTheNextOne) {
  ASSERT_TRUE(is_cpu_profile(kMill));
  const model::Profile profile = read_cpu_profile(kMill, "x").value();
  EXPECT_THAT(stacks_of(profile),
              ElementsAre("javascript;(garbage collector) 150000", "javascript;grind 250000",
                          "javascript;grind;(anonymous) 200000"));
  EXPECT_EQ(total_of(profile, Metric::kOffCpu), 300'000) << "(idle)";
  EXPECT_EQ(total_of(profile, Metric::kWall), 900'000) << "from the first sample to the end";
  EXPECT_EQ(profile.meta.end_ns - profile.meta.start_ns, 1'000'000u);
  ASSERT_GE(profile.lines.size(), 1u);
  EXPECT_TRUE(std::any_of(profile.lines.begin(), profile.lines.end(), [](const model::Line& line) {
    return line.line == 5;
  })) << "the file counts from 0";
}

TEST(CpuProfile, SamplesOutOfOrderAreTakenInTheirOrder) {
  std::string text(kMill);
  text.replace(text.find("[100, 50, 200, 300, 150]"), 24, "[100, 250, -200, 500, 150]");
  const model::Profile profile = read_cpu_profile(text, "x").value();
  EXPECT_EQ(total_of(profile, Metric::kWall), 900'000);
  EXPECT_EQ(total_of(profile, Metric::kOffCpu), 200'000) << "from 150 to 350 us";
}

TEST(CpuProfile, OldFilesAreNestedAndHaveCounts) {
  constexpr std::string_view kText =
      R"json({"head": {"functionName": "(root)", "id": 1, "hitCount": 0, "children": [
        {"functionName": "grind", "url": "mill.js", "lineNumber": 4, "id": 2, "hitCount": 7, "children": [
          {"functionName": "sift", "id": 3, "hitCount": 2, "children": []}]}]}})json";
  EXPECT_THAT(stacks_of(read_cpu_profile(kText, "x").value()),
              ElementsAre("javascript;grind 7", "javascript;grind;sift 2"));
}

TEST(CpuProfile, NodesInARingAndMissingOnesAreNoTrap) {
  constexpr std::string_view kText = R"json({"nodes": [
    {"id": 1, "callFrame": {"functionName": "a"}, "hitCount": 1, "children": [2]},
    {"id": 2, "callFrame": {"functionName": "b"}, "hitCount": 1, "children": [1, 9]},
    {"id": 3, "callFrame": {"functionName": "c"}, "hitCount": 1, "children": [3]}],
    "samples": [1, 3, 8], "timeDeltas": [1, 1, 1], "startTime": 0, "endTime": 9})json";
  const model::Profile profile = read_cpu_profile(kText, "x").value();
  EXPECT_THAT(stacks_of(profile), ElementsAre("javascript;c 1000"));
  EXPECT_THAT(profile.quality.notes, ElementsAre("2 samples refer to missing nodes."));
}

TEST(HeapProfile, SizesAreLiveBytes) {
  constexpr std::string_view kText =
      R"json({"head": {"callFrame": {"functionName": "(root)"}, "selfSize": 0, "id": 1, "children": [
        {"callFrame": {"functionName": "load", "url": "mill.js", "lineNumber": 2}, "selfSize": 65544, "id": 2,
         "children": [{"callFrame": {"functionName": "parse"}, "selfSize": 131088, "id": 3, "children": []}]}]},
        "samples": [{"size": 65544, "nodeId": 2, "ordinal": 1}, {"size": 65544, "nodeId": 3, "ordinal": 2},
                    {"size": 65544, "nodeId": 3, "ordinal": 3}]})json";
  ASSERT_TRUE(is_heap_profile(kText));
  EXPECT_FALSE(is_cpu_profile(kText));
  EXPECT_FALSE(is_heap_profile(kMill));
  const model::Profile profile = read_heap_profile(kText, "x").value();
  EXPECT_THAT(stacks_of(profile, Metric::kHeapLive), ElementsAre("load 65544", "load;parse 131088"));
  EXPECT_THAT(analysis::metrics_in(profile), testing::Not(testing::Contains(Metric::kHeapAllocated)));
  EXPECT_EQ(profile.heap.slices[0].live_blocks, 3);
}

TEST(V8, WhatIsNoProfileIsRefused) {
  EXPECT_THAT(read_cpu_profile(R"json({"nodes": 3})json", "x").error().message,
              HasSubstr("x: a profile of V8: no nodes"));
  EXPECT_THAT(read_heap_profile(R"json({"head": []})json", "x").error().message, HasSubstr("no nodes"));
  EXPECT_THAT(read_cpu_profile(kMill.substr(0, 100), "x").error().message, HasSubstr("cut short at byte"));
}

}  // namespace
}  // namespace fathom::formats
