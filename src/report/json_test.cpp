#include "report/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/golden.h"
#include "profile/random_profile.h"
#include "report/hand_made_waits.h"

namespace fathom::report {
namespace {

TEST(ReportJson, OfTheSmallServer) {
  const profile::Profile profile = small_server();
  const Report report = make_report(profile, {.callers = {"ksys_write"}, .callees = {"main"}}).value();
  expect_golden("small_server.json", to_json(report, 0));
}

TEST(ReportJson, OfAServerThatWaits) {
  const profile::Profile profile = waiting_server();
  const ReportOptions options{.selection = {.metric = profile::Metric::kOffCpu, .fold_idle = true}};
  expect_golden("waiting_server.json", to_json(make_report(profile, options).value(), 3));
}

TEST(ReportJson, HasNoKeysOfWaitsWhereNoneWereRecorded) {
  const profile::Profile profile = small_server();
  const auto json = nlohmann::json::parse(to_json(make_report(profile, {}).value(), 0));
  for (const char* key : {"waits", "causes", "locks", "files"}) EXPECT_FALSE(json.contains(key)) << key;
}

TEST(ReportJson, HasTheKeysThatScriptsRelyOn) {
  const profile::Profile profile = small_server();
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
    profile::Profile profile = profile::random_profile(seed);
    profile.meta.target = "not \xff\xc0 UTF-8";
    const Result<Report> report = make_report(profile, {.selection = {.metric = default_metric(profile)}});
    ASSERT_TRUE(report) << "seed " << seed;
    EXPECT_TRUE(nlohmann::json::accept(to_json(*report, 0))) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fathom::report
