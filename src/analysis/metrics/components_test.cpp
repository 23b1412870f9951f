#include "analysis/metrics/components.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace fathom::analysis {
namespace {

constexpr double kMebibyte = 1 << 20;
constexpr const char* kPending = "reth_transaction_pool_pending_pool_size_bytes";
constexpr const char* kQueued = "reth_transaction_pool_queued_pool_size_bytes";

std::vector<TimedValue> values(const std::function<double(double)>& value, double seconds = 100,
                               double step = 5) {
  std::vector<TimedValue> points;
  for (double time = 0; time <= seconds; time += step) points.push_back({1000 + time, value(time)});
  return points;
}
std::vector<TimedValue> growing(double first_mib, double mib_per_s) {
  return values([=](double time) { return (first_mib + mib_per_s * time) * kMebibyte; });
}
const ComponentGrowth& component(const Components& found, std::string_view name) {
  for (const auto* list : {&found.components, &found.whole})
    for (const ComponentGrowth& growth : *list)
      if (growth.component == name) return growth;
  throw std::runtime_error("no component " + std::string(name));
}

TEST(ComponentRules, TheBuiltInOnesAreReadAndKnowWhatTheProgramsExport) {
  ASSERT_TRUE(ComponentRules::parse(kMetricRulesText, "metric_rules.txt"))
      << ComponentRules::parse(kMetricRulesText, "metric_rules.txt").error().message;
  const ComponentRules& rules = ComponentRules::built_in();
  const auto name = [&](std::string_view series) {
    const ComponentRule* rule = rules.find(series);
    return rule == nullptr ? std::string() : rule->component;
  };
  EXPECT_EQ(name("reth_jemalloc_allocated"), "live");
  EXPECT_EQ(name("jemalloc_bytes_resident"), "resident");
  EXPECT_EQ(name("reth_transaction_pool_pending_pool_size_bytes"), "transactions, pending pool");
  EXPECT_EQ(name("op_reth_transaction_pool_blobstore_byte_size"), "blobs of transactions");
  EXPECT_EQ(name("reth_rpc_eth_cache_cached_bytes{cache=\"blocks\"}"), "RPC cache");
  EXPECT_EQ(name("near_memtrie_arena_memory_usage_bytes{shard_uid=\"s1.v3\"}"), "trie in memory");
  EXPECT_EQ(name("near_rocksdb_cur_size_all_mem_tables{col=\"col5\"}"), "RocksDB memtables");
  EXPECT_EQ(name("near_rocksdb_block_cache_usage"), "RocksDB block cache");
  EXPECT_EQ(name("store_beacon_block_cache_size"), "blocks in the store's cache");
  EXPECT_EQ(name("near_rocksdb_cur_size_all_mem_tables_cold{col=\"col5\"}"), "RocksDB memtables");
  EXPECT_EQ(name("http_requests_total"), "");
}

TEST(ComponentRules, WhatLiesInFilesIsNoHeap) {
  for (const char* series : {"reth_transaction_pool_blobstore_byte_size", "reth_exex_wal_size_bytes",
                             "reth_rocksdb_sst_size{table=\"t\"}", "near_rocksdb_live_sst_files_size_cold"}) {
    const ComponentRule* rule = ComponentRules::built_in().find(series);
    ASSERT_NE(rule, nullptr) << series;
    EXPECT_EQ(rule->meaning, MetricMeaning::kFile) << series;
  }
}

TEST(ComponentRules, WhatIsNoRuleIsRefusedWithItsPlace) {
  for (const char* text :
       {"thing a : b : c", "bytes a : b", "all a", "bytes : x : y", "bytes a : x :  | y", "count a : x : y z",
        "bytes a : b : c : 2 MiB", "bytes a : b : c : ", "count a : b : c : 2 GiB"}) {
    const auto rules = ComponentRules::parse(std::string("# remark\n") + text + "\n", "r.txt");
    ASSERT_FALSE(rules) << text;
    EXPECT_THAT(rules.error().message, testing::StartsWith("r.txt:2: "));
  }
}

TEST(ExplainGrowth, OneComponentExplainsAndAnotherIsRuledOut) {
  const std::vector<MetricSeries> series{{kPending, false, growing(100, 3)},
                                         {kQueued, false, growing(50, 0)}};
  const Components found = explain_growth(series, growing(1000, 4));
  ASSERT_TRUE(found.memory);
  EXPECT_NEAR(found.memory->per_second, 4 * kMebibyte, 1);
  EXPECT_EQ(found.seconds, 100);
  const ComponentGrowth& pending = component(found, "transactions, pending pool");
  EXPECT_EQ(pending.verdict, ComponentVerdict::kExplains);
  EXPECT_NEAR(pending.share, 0.75, 1e-9);
  EXPECT_EQ(pending.crates, std::vector<std::string>{"reth_transaction_pool"});
  EXPECT_EQ(pending.first, 100 * kMebibyte);
  EXPECT_EQ(pending.last, 400 * kMebibyte);
  EXPECT_EQ(component(found, "transactions, queued pool").verdict, ComponentVerdict::kRuledOut);
  EXPECT_NEAR(found.explained, 0.75, 1e-9);
  EXPECT_EQ(found.components.front().component, "transactions, pending pool")
      << "what explains most comes first";
}

TEST(ExplainGrowth, TheShareHasAnIntervalFromBothSlopes) {
  const auto swinging = [](double time) { return (100 + 3 * time + 20 * std::sin(time)) * kMebibyte; };
  const std::vector<MetricSeries> series{{kPending, false, values(swinging)}};
  const Components found = explain_growth(
      series, values([](double time) { return (1000 + 4 * time + 10 * std::cos(time)) * kMebibyte; }));
  const ComponentGrowth& pending = component(found, "transactions, pending pool");
  ASSERT_EQ(pending.verdict, ComponentVerdict::kExplains);
  EXPECT_LT(pending.share_low, pending.share);
  EXPECT_GT(pending.share_high, pending.share);
  EXPECT_LT(pending.share_low, 0.75);
  EXPECT_GT(pending.share_high, 0.75);
}

TEST(ExplainGrowth, WhatSwingsWidelyIsNeitherExplainedNorRuledOut) {
  const std::vector<MetricSeries> series{
      {kPending, false, values([](double time) { return (100 + 80 * std::sin(time / 7)) * kMebibyte; })}};
  EXPECT_EQ(component(explain_growth(series, growing(1000, 1)), "transactions, pending pool").verdict,
            ComponentVerdict::kUnclear);
}

TEST(ExplainGrowth, OfMemoryThatDoesNotGrowNothingIsExplained) {
  const std::vector<MetricSeries> series{{kPending, false, growing(100, 3)}};
  const Components found = explain_growth(series, growing(1000, 0));
  EXPECT_EQ(component(found, "transactions, pending pool").verdict, ComponentVerdict::kNotTold);
  EXPECT_EQ(found.explained, 0);
}

TEST(ExplainGrowth, ASingleScrapeHasSizesOnly) {
  const std::vector<MetricSeries> series{{kPending, false, {{1000, 7 * kMebibyte}}}};
  const Components found = explain_growth(series, std::vector<TimedValue>{{1000, 100 * kMebibyte}});
  EXPECT_EQ(found.components.size(), 1U);
  EXPECT_EQ(found.components[0].last, 7 * kMebibyte);
  EXPECT_FALSE(found.components[0].slope);
  EXPECT_EQ(found.components[0].verdict, ComponentVerdict::kNotTold);
  EXPECT_EQ(found.memory_last, 100 * kMebibyte);
}

TEST(ExplainGrowth, SeriesOfOneComponentAreSummed) {
  const std::vector<MetricSeries> series{
      {"near_rocksdb_cur_size_all_mem_tables{col=\"1\"}", false, growing(10, 1)},
      {"near_rocksdb_cur_size_all_mem_tables{col=\"2\"}", false, growing(20, 2)}};
  const Components found = explain_growth(series, growing(1000, 6));
  ASSERT_EQ(found.components.size(), 1U);
  EXPECT_EQ(found.components[0].series, 2U);
  EXPECT_EQ(found.components[0].first, 30 * kMebibyte);
  EXPECT_NEAR(found.components[0].share, 0.5, 1e-9);
}

TEST(ExplainGrowth, TheMemoryIsThatOfTheTimeOfTheMetrics) {
  // Before the first scrape it grew a thousand times as fast.
  std::vector<TimedValue> memory;
  for (double time = 0; time < 1000; time += 10) memory.push_back({time, time * 1000 * kMebibyte});
  for (const TimedValue& point : growing(1e6, 4)) memory.push_back(point);
  const std::vector<MetricSeries> series{{kPending, false, growing(100, 2)}};
  EXPECT_NEAR(component(explain_growth(series, memory), "transactions, pending pool").share, 0.5, 1e-6);
}

TEST(ExplainGrowth, TheAllocatorAsAWholeIsApart) {
  const std::vector<MetricSeries> series{{"reth_jemalloc_allocated", false, growing(500, 1)},
                                         {"reth_jemalloc_resident", false, growing(900, 4)},
                                         {kPending, false, growing(100, 1)}};
  const Components found = explain_growth(series, growing(1000, 4));
  EXPECT_EQ(found.components.size(), 1U);
  EXPECT_EQ(found.whole.size(), 2U);
  EXPECT_NEAR(found.explained, 0.25, 1e-9)
      << "what the allocator has is not added to what its blocks belong to";
  EXPECT_NEAR(component(found, "live").share, 0.25, 1e-9);
  EXPECT_NEAR(component(found, "resident").share, 1.0, 1e-9);
}

TEST(ExplainGrowth, NumbersOfThingsGrowOrAreRuledOutWithoutBytes) {
  const std::vector<MetricSeries> series{
      {"store_beacon_block_cache_size", false, values([](double time) { return 10 + time; })},
      {"store_beacon_blob_cache_size", false, values([](double) { return 5.0; })}};
  const Components found = explain_growth(series, growing(1000, 4));
  EXPECT_EQ(component(found, "blocks in the store's cache").verdict, ComponentVerdict::kGrows);
  EXPECT_EQ(component(found, "blobs in the store's cache").verdict, ComponentVerdict::kRuledOut);
  EXPECT_EQ(found.explained, 0);
}

TEST(ExplainGrowth, BytesOfFilesAndMetricsWithoutARuleAreNoComponents) {
  const std::vector<MetricSeries> series{
      {"near_rocksdb_live_sst_files_size{col=\"1\"}", false, growing(10, 100)},
      {"something_bytes", false, growing(10, 100)},
      {"x_jemalloc_allocated", true, growing(10, 100)}};
  EXPECT_TRUE(explain_growth(series, growing(1000, 4)).empty());
}

TEST(ExplainGrowth, NothingComesOfNothing) {
  EXPECT_TRUE(explain_growth({}, {}).empty());
  EXPECT_TRUE(explain_growth(std::vector<MetricSeries>{{kPending, false, {}}}, {}).empty());
}

TEST(SinceFirst, ACounterThatStartedOverContinues) {
  const std::vector<TimedValue> counter{{0, 100}, {1, 150}, {2, 20}, {3, 50}};
  const auto sums = since_first(counter);
  ASSERT_EQ(sums.size(), 4U);
  EXPECT_EQ(sums[0].value, 0);
  EXPECT_EQ(sums[1].value, 50);
  EXPECT_EQ(sums[2].value, 70);
  EXPECT_EQ(sums[3].value, 100);
  EXPECT_TRUE(since_first({}).empty());
}

}  // namespace
}  // namespace fathom::analysis
