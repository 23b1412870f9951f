#include "present/json/component_json.h"

#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "analysis/summary/report.h"
#include "present/json/json.h"

namespace fathom::present {
namespace {

using Json = nlohmann::ordered_json;

TEST(ComponentJson, SaysWhatEachExplainsAndWhatItsCratesHold) {
  analysis::Components found;
  found.memory = analysis::Slope{100, 90, 110};
  found.seconds = 20;
  found.explained = 0.5;
  analysis::ComponentGrowth pool;
  pool.component = "pool";
  pool.crates = {"reth_transaction_pool"};
  pool.heap = {{"reth_transaction_pool", 300, 7}};
  pool.first = 10, pool.last = 1010;
  pool.slope = analysis::Slope{50, 45, 55};
  pool.verdict = analysis::ComponentVerdict::kExplains;
  pool.share = 0.5, pool.share_low = 0.4, pool.share_high = 0.6;
  analysis::ComponentGrowth blocks;
  blocks.meaning = analysis::MetricMeaning::kCount;
  blocks.component = "blocks";
  found.components = {pool, blocks};
  const Json json = components_json(found);
  EXPECT_EQ(json.at("seconds"), 20);
  EXPECT_EQ(json.at("explained_share"), 0.5);
  EXPECT_EQ(json.at("memory_slope").at("bytes_per_s"), 100);
  ASSERT_EQ(json.at("components").size(), 2U);
  const Json& first = json.at("components").at(0);
  EXPECT_EQ(first.at("component"), "pool");
  EXPECT_EQ(first.at("unit"), "bytes");
  EXPECT_EQ(first.at("verdict"), "explains");
  EXPECT_EQ(first.at("slope").at("per_s"), 50);
  EXPECT_EQ(first.at("share_high"), 0.6);
  EXPECT_EQ(first.at("heap"),
            Json::parse(R"([{"crate":"reth_transaction_pool","live_bytes":300.0,"error":7.0}])"));
  const Json& second = json.at("components").at(1);
  EXPECT_EQ(second.at("unit"), "count");
  EXPECT_EQ(second.at("verdict"), "not-told");
  EXPECT_TRUE(second.at("share").is_null());
  EXPECT_FALSE(second.contains("heap"));
  EXPECT_TRUE(json.at("allocator").empty());
}

void add(model::Profile& profile, std::string_view name, double mib_per_s) {
  model::Series series;
  series.name = profile.strings.intern(name);
  series.unit = profile.strings.intern("bytes");
  series.pid = 100;
  for (std::uint64_t second = 0; second < 20; ++second)
    series.points.push_back(
        {second * 1'000'000'000, (50 + mib_per_s * static_cast<double>(second)) * (1 << 20)});
  profile.series.push_back(std::move(series));
}

TEST(ComponentJson, IsInTheReportOfARecordingWithMetrics) {
  model::Profile profile = analysis::small_server();
  EXPECT_FALSE(Json::parse(to_json(analysis::make_report(profile, {}).value(), 0)).contains("components"));
  add(profile, "memory.rss_anon", 4);
  add(profile, "metric.reth_transaction_pool_pending_pool_size_bytes", 2);
  const Json json = Json::parse(to_json(analysis::make_report(profile, {}).value(), 0));
  ASSERT_TRUE(json.contains("components"));
  EXPECT_NEAR(json.at("components").at("explained_share").get<double>(), 0.5, 1e-9);
  EXPECT_EQ(json.at("components").at("components").at(0).at("component"), "transactions, pending pool");
}

}  // namespace
}  // namespace fathom::present
