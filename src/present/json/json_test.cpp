#include "present/json/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/memory/hand_made_memory.h"
#include "analysis/waits/hand_made_waits.h"
#include "base/golden.h"
#include "model/random_profile.h"
#include "present/json/heap_leaks_json.h"

namespace fathom::present {

using namespace analysis;  // this folder writes down what lies there

namespace {

TEST(ReportJson, OfTheSmallServer) {
  const model::Profile profile = small_server();
  ReportOptions options;
  options.callers = {"ksys_write"};
  options.callees = {"main"};
  const Report report = make_report(profile, options).value();
  expect_golden("small_server.json", to_json(report, 0));
}

TEST(ReportJson, HasTheCallTreeWhereItIsAskedFor) {
  const model::Profile profile = small_server();
  ReportOptions options;
  options.tree = TreeDirection::kCallees;
  const auto json = nlohmann::json::parse(to_json(make_report(profile, options).value(), 0));
  EXPECT_EQ(json.at("call_tree_direction"), "callees");
  const auto& rows = json.at("call_tree");
  EXPECT_EQ(rows.at(0).at("name"), "server");
  EXPECT_EQ(rows.at(0).at("kind"), "thread");
  EXPECT_EQ(rows.at(2).at("name"), "main");
  EXPECT_EQ(rows.at(2).at("depth"), 2);
  EXPECT_EQ(rows.at(2).at("total"), 700);
  EXPECT_FALSE(nlohmann::json::parse(to_json(make_report(profile, {}).value(), 0)).contains("call_tree"));
}

TEST(ReportJson, OfAServerThatWaits) {
  const model::Profile profile = waiting_server();
  const ReportOptions options{.selection = {.metric = model::Metric::kOffCpu, .fold_idle = true}};
  expect_golden("waiting_server.json", to_json(make_report(profile, options).value(), 3));
}

TEST(ReportJson, HasNoKeysOfWaitsWhereNoneWereRecorded) {
  const model::Profile profile = small_server();
  const auto json = nlohmann::json::parse(to_json(make_report(profile, {}).value(), 0));
  for (const char* key : {"waits", "causes", "locks", "files"}) EXPECT_FALSE(json.contains(key)) << key;
}

// Each key of a table is there with its section and gone without it; what belongs to no table is always there.
TEST(ReportJson, HasTheTablesOfTheSectionsOnly) {
  const std::vector<std::pair<Section, std::vector<std::string>>> tables{
      {Section::kFunctions, {"functions", "functions_total", "sort"}},
      {Section::kThreads, {"threads", "processes"}},
      {Section::kModules, {"modules"}},
      {Section::kSeries, {"series"}},
      {Section::kWaits, {"waits", "causes"}},
      {Section::kLocks, {"locks"}},
      {Section::kFiles, {"files"}}};
  const model::Profile profile = waiting_server();
  const Report report = make_report(profile, {}).value();
  for (const auto& [shown, unused] : tables) {
    const auto json = nlohmann::json::parse(to_json(report, 0, {shown}));
    for (const char* key : {"format_version", "summary", "quality", "total"}) EXPECT_TRUE(json.contains(key));
    for (const auto& [section, keys] : tables)
      for (const std::string& key : keys)
        EXPECT_EQ(json.contains(key), section == shown) << key << " with " << to_string(shown);
  }
  const model::Profile heap = small_heap(model::HeapMode::kSampled).profile;
  const Report of_heap = make_report(heap, {}).value();
  EXPECT_TRUE(nlohmann::json::parse(to_json(of_heap, 0, {Section::kHeap})).contains("heap"));
  EXPECT_FALSE(nlohmann::json::parse(to_json(of_heap, 0, {Section::kMemory})).contains("heap"));
}

TEST(ReportJson, HasTheKeysThatScriptsRelyOn) {
  const model::Profile profile = small_server();
  const auto json = nlohmann::json::parse(to_json(make_report(profile, {}).value(), 2));
  EXPECT_EQ(json.at("format_version"), kJsonVersion);
  EXPECT_EQ(json.at("target"), "hand (pid 10)");
  EXPECT_EQ(json.at("duration_s"), 10.0);
  EXPECT_EQ(json.at("engine"), "bpf");
  EXPECT_EQ(json.at("metric"), "cpu");
  EXPECT_EQ(json.at("unit"), "samples");
  for (const char* key :
       {"samples", "lost", "complete_percent", "unnamed_percent", "profiler_cpu_s", "profiler_rss_bytes"}) {
    EXPECT_TRUE(json.at("quality").at(key).is_number()) << key;
  }
  EXPECT_EQ(json.at("functions").size(), 2u);
  EXPECT_EQ(json.at("functions_total"), 10);
  for (const char* key : {"name", "module", "self", "total"})
    EXPECT_TRUE(json.at("functions")[0].contains(key)) << key;
  EXPECT_EQ(json.at("threads").size(), 2u);
  EXPECT_EQ(json.at("modules")[0].at("symbols"), "dwarf");
}

TEST(ReportJson, IsJsonForAnyProfile) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    model::Profile profile = model::random_profile(seed);
    profile.meta.target = "not \xff\xc0 UTF-8";
    const Result<Report> report = make_report(profile, {.selection = {.metric = default_metric(profile)}});
    ASSERT_TRUE(report) << "seed " << seed;
    EXPECT_TRUE(nlohmann::json::accept(to_json(*report, 0))) << "seed " << seed;
  }
}

TEST(ReportJson, OfAHeap) {
  const model::Profile profile = small_heap(model::HeapMode::kSampled).profile;
  const Report report = make_report(profile, {.selection = {.metric = model::Metric::kHeapLive}}).value();
  expect_golden("small_heap.json", to_json(report, 0));
}

TEST(ReportJson, OfTheMemory) {
  const HandMadeMemory hand = memory_of_small_heap();
  const auto report = make_report(hand.profile, {.selection = {.metric = model::Metric::kHeapLive}});
  ASSERT_TRUE(report);
  const auto json = nlohmann::json::parse(to_json(*report, 0)).at("memory");
  EXPECT_NEAR(json.at("coverage_percent").get<double>(), 49.54, 0.01);
  EXPECT_EQ(json.at("rss_bytes"), 6176 << 10);
  EXPECT_EQ(json.at("earlier_at_most_bytes"), 300 << 10);
  EXPECT_EQ(json.at("parts")[0].at("part"), "live");
  EXPECT_EQ(json.at("ranges")[0].at("name"), "/var/lib/blocks.dat");
}

TEST(LeaksJson, HasEveryGroup) {
  std::size_t groups = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    if (profile.heap.empty()) continue;
    const LeakReport report = find_leaks(profile, {}).value();
    const auto json = nlohmann::json::parse(leaks_json(report, 0));
    EXPECT_EQ(json["groups"].size(), report.groups.size()) << "seed " << seed;
    groups += report.groups.size();
  }
  EXPECT_GT(groups, 5u);
}

}  // namespace
}  // namespace fathom::present
