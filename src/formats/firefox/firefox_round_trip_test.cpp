// What present/exports writes for the Firefox Profiler, as this folder reads it, and as the Profiler needs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "analysis/core/hand_made_profile.h"
#include "formats/firefox/firefox.h"
#include "formats/import/import_testing.h"
#include "formats/json/json.h"
#include "model/random_profile.h"
#include "present/exports/firefox_writer.h"

namespace fathom::formats {
namespace {

using model::Metric;
using testing::ElementsAre;

// Columns of one length, and rows that are there.
void expect_sound(const Json& json) {
  const Json& shared = json["shared"];
  const std::size_t texts = shared["stringArray"].size(), stacks = shared["stackTable"]["length"];
  for (const char* name :
       {"stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources"})
    for (const auto& [key, column] : shared[name].items())
      if (column.is_array()) {
        EXPECT_EQ(column.size(), shared[name]["length"]) << name << "." << key;
      }
  for (std::size_t i = 0; i < stacks; ++i) {
    const Json& parent = shared["stackTable"]["prefix"][i];
    EXPECT_TRUE(parent.is_null() || parent.get<std::size_t>() < i);
    EXPECT_LT(shared["stackTable"]["frame"][i], shared["frameTable"]["length"]);
  }
  for (const Json& func : shared["frameTable"]["func"]) EXPECT_LT(func, shared["funcTable"]["length"]);
  for (const Json& name : shared["funcTable"]["name"]) EXPECT_LT(name.get<std::size_t>(), texts);
  for (const Json& category : shared["frameTable"]["category"])
    EXPECT_LT(category, json["meta"]["categories"].size());
  for (std::size_t i = 0; i < shared["frameTable"]["length"]; ++i) {
    const std::size_t category = shared["frameTable"]["category"][i];
    EXPECT_LT(shared["frameTable"]["subcategory"][i],
              json["meta"]["categories"][category]["subcategories"].size());
  }
  for (const Json& lib : shared["resourceTable"]["lib"]) EXPECT_LT(lib, json["libs"].size());
  for (const Json& thread : json["threads"]) {
    EXPECT_TRUE(thread["pid"].is_string());
    const Json& samples = thread["samples"];
    EXPECT_EQ(samples["stack"].size(), samples["length"]);
    EXPECT_EQ(samples["time"].size(), samples["length"]);
    if (!samples["weight"].is_null()) {
      EXPECT_EQ(samples["weight"].size(), samples["length"]);
    }
    EXPECT_TRUE(std::ranges::is_sorted(samples["time"]));
    for (const Json& stack : samples["stack"])
      EXPECT_TRUE(stack.is_null() || stack.get<std::size_t>() < stacks);
    for (const auto& [key, column] : thread["markers"].items())
      if (column.is_array()) {
        EXPECT_EQ(column.size(), thread["markers"]["length"]) << key;
      }
  }
  for (const Json& counter : json["counters"]) {
    EXPECT_EQ(counter["samples"]["count"][0], 0) << "the viewer drops the first change";
    EXPECT_EQ(counter["samples"]["count"].size(), counter["samples"]["length"]);
    EXPECT_LT(counter["mainThreadIndex"], json["threads"].size());
  }
}

TEST(FirefoxRoundTrip, EverySumOfTimeIsKept) {
  model::for_each_profile(40, [](const model::Profile& profile) {
    const auto written = present::write_firefox(profile, {});
    if (!written) return;
    ASSERT_TRUE(is_firefox(*written));
    expect_sound(parse_json(*written, "x").value());
    const auto too_late = [](std::uint64_t time_ns) { return time_ns > 1'000'000'000'000'000'000u; };
    if (std::ranges::any_of(profile.samples, too_late, &model::Sample::time_ns) ||
        std::ranges::any_of(profile.waits, too_late, &model::Wait::start_ns))
      return;  // the reader refuses times of more than 30 years
    // The reader leaves out samples without a stack.
    std::map<Metric, std::int64_t> totals;
    for (const Metric metric : {Metric::kCpu, Metric::kOffCpu})
      for (const analysis::CallTree tree =
               analysis::build_call_tree(profile, {.selection = {.metric = metric}});
           const analysis::TreeNode& node : tree.nodes)
        if (node.kind != analysis::NodeKind::kRoot && node.kind != analysis::NodeKind::kThread)
          totals[metric] += node.self;
    for (const auto& [metric, total] : totals)
      if (total > std::int64_t{1} << 53) return;  // no number of JSON counts so far
    const auto read = read_firefox(*written, "x");
    ASSERT_TRUE(read) << read.error().message;
    for (const auto& [metric, total] : totals)
      EXPECT_NEAR(static_cast<double>(total_of(*read, metric)), static_cast<double>(total), 0.5)
          << model::to_string(metric);
  });
}

model::Profile waiting_server() {
  model::Profile profile = analysis::small_server();
  profile.waits.push_back(wait_of(2'000'000'000, 1'500'000, 30, {1}));
  return profile;
}

TEST(FirefoxRoundTrip, SamplesStandAtTheirTimesAndWaitsInThreadsOfTheirOwn) {
  const std::string text = present::write_firefox(waiting_server(), {}).value();
  const Json json = parse_json(text, "x").value();
  EXPECT_EQ(json["meta"]["preprocessedProfileVersion"], 63);
  EXPECT_EQ(json["meta"]["interval"], 10);
  std::vector<std::string> names;
  for (const Json& thread : json["threads"]) names.push_back(thread["name"]);
  EXPECT_THAT(names, ElementsAre("server", "worker-1", "server (off-CPU)"));
  EXPECT_EQ(json["threads"][0]["samples"]["time"][1], 10);
  double cpu_ns = 0;
  for (const Json& thread : json["threads"])
    for (const Json& part : thread["samples"].value("threadCPUDelta", Json::array()))
      cpu_ns += part.get<double>();
  EXPECT_EQ(cpu_ns, 9e9) << "900 samples at 100 Hz: how busy the viewer draws the threads";
  const Json& waits = json["threads"][2];
  EXPECT_EQ(waits["samples"]["weight"][0], 1.5);
  EXPECT_EQ(waits["markers"]["startTime"][0], 1000);
  EXPECT_EQ(waits["markers"]["endTime"][0], 1001.5);
  EXPECT_EQ(waits["markers"]["data"][0]["waker"], "worker-1 (11)");
  const model::Profile read = read_firefox(text, "x").value();
  EXPECT_EQ(total_of(read, Metric::kCpu), 900);
  EXPECT_EQ(total_of(read, Metric::kOffCpu), 1'500'030);
  EXPECT_EQ(read.meta.frequency_hz, 100u);
}

TEST(FirefoxRoundTrip, InlinedCallsAreFramesWithTheirDepth) {
  analysis::HandMade hand;
  const auto app = hand.module("kettle");
  hand.profile.modules[app.value].build_id = hand.builder.string("0123456789abcdef0123456789abcdef01234567");
  const auto thread = hand.thread(hand.process(10, "kettle"), 10, "kettle");
  const auto inner = hand.builder.frame_with_lines(app, ElfAddress{0x1200},
                                                   {{"steam::boil", "heat.h", 7}, {"run", "kettle.c", 30}});
  hand.sample(thread, hand.stack({inner}), 1);
  const Json json = parse_json(present::write_firefox(hand.profile, {}).value(), "x").value();
  const Json& frames = json["shared"]["frameTable"];
  EXPECT_EQ(frames["inlineDepth"], Json({1, 0}));
  EXPECT_EQ(frames["line"], Json({7, 30}));
  EXPECT_EQ(frames["address"], Json({0x1200, 0x1200}));
  EXPECT_EQ(json["meta"]["categories"][1]["subcategories"], Json({"Other", "steam"}));
  EXPECT_EQ(json["libs"][0]["breakpadId"], "67452301AB89EFCD0123456789ABCDEF0");
  EXPECT_EQ(json["libs"][0]["codeId"], "0123456789abcdef0123456789abcdef01234567");
}

TEST(FirefoxRoundTrip, SpansAreMarkersOfTheirThread) {
  model::Profile profile = analysis::small_server();
  const std::uint64_t start = profile.meta.start_ns;
  const model::StringId name = profile.strings.intern("new payload");
  profile.spans.push_back(
      {start + 1'000'000, start + 3'500'000, name, {1}, model::SpanSource::kMarkerFile, 0, 0});
  profile.spans.push_back(
      {start + 9'000'000, start + 9'000'000, name, {0}, model::SpanSource::kMarkerFile, 7, 0});
  const std::string text = present::write_firefox(profile, {}).value();
  const Json json = parse_json(text, "x").value();
  expect_sound(json);
  EXPECT_EQ(json["threads"][1]["markers"]["startTime"], Json({1}));
  EXPECT_EQ(json["threads"][1]["markers"]["data"][0]["name"], "new payload");
  const model::Profile read = read_firefox(text, "x").value();
  ASSERT_EQ(read.spans.size(), 2u);
  EXPECT_EQ(read.strings[read.spans[1].name], "new payload");
  EXPECT_EQ(read.spans[1].end_ns - read.spans[1].start_ns, 2'500'000u);
  EXPECT_EQ(read.threads[read.spans[1].thread.value].tid, 11);
  EXPECT_EQ(read.spans[0].source, model::SpanSource::kFirefox);
}

// What Firefox and other tools write: intervals, and starts and ends in markers of their own.
TEST(FirefoxRoundTrip, MarkersWithALengthAreReadAsSpans) {
  Json json = parse_json(present::write_firefox(analysis::small_server(), {}).value(), "x").value();
  Json& strings = json["shared"]["stringArray"];
  const std::size_t reflow = strings.size();
  strings.push_back("Reflow");
  json["threads"][0]["markers"] = {{"length", 5},
                                   {"data", {nullptr, nullptr, nullptr, {{"type", "Wait"}}, nullptr}},
                                   {"name", {reflow, reflow, reflow, reflow, reflow}},
                                   {"startTime", {1, 5, nullptr, 6, 8}},
                                   {"endTime", {2, nullptr, 7, 8, nullptr}},
                                   {"phase", {1, 2, 3, 1, 0}},
                                   {"category", {0, 0, 0, 0, 0}}};
  const model::Profile read = read_firefox(json.dump(), "x").value();
  ASSERT_EQ(read.spans.size(), 2u) << "neither a wait nor an instant";
  EXPECT_EQ(read.strings[read.spans[0].name], "Reflow");
  EXPECT_EQ(read.spans[0].end_ns - read.spans[0].start_ns, 1'000'000u);
  EXPECT_EQ(read.spans[1].end_ns - read.spans[1].start_ns, 2'000'000u);
}

TEST(FirefoxRoundTrip, ACounterBeginsAtItsWholeValue) {
  const Json json = parse_json(present::write_firefox(analysis::small_server(), {}).value(), "x").value();
  const Json& counter = json["counters"][0];
  EXPECT_EQ(counter["name"], "memory.rss_anon");
  EXPECT_EQ(counter["samples"]["count"], Json({0, 10 << 20, 20 << 20, -(10 << 20)}));
  EXPECT_EQ(counter["samples"]["time"], Json({0, 0.001, 5000, 10000}));
}

TEST(FirefoxRoundTrip, BeyondTheLimitTheLongestWaitsHaveMarkers) {
  model::Profile profile = waiting_server();
  for (std::uint64_t i = 1; i <= 20; ++i) profile.waits.push_back(wait_of(2'000'000'000 + i, i));
  const Json json = parse_json(present::write_firefox(profile, {.most_markers = 2}).value(), "x").value();
  EXPECT_EQ(json["threads"][2]["markers"]["length"], 2);
  EXPECT_EQ(json["threads"][2]["samples"]["length"], 22) << "every wait counts";
}

}  // namespace
}  // namespace fathom::formats
