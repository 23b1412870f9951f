#include "tools/watch/metric_history.h"

#include <gtest/gtest.h>

namespace fathom::watch {
namespace {

using analysis::ComponentVerdict;

constexpr std::uint64_t kSecondOfMetrics = 1'000'000'000;
constexpr double kMiBOfMetrics = 1 << 20;

metrics::Scrape scrape_at(std::uint64_t second, double pool_mib) {
  metrics::Scrape scrape;
  scrape.time_ns = second * kSecondOfMetrics;
  scrape.values = {
      {"reth_transaction_pool_pending_pool_size_bytes", false, "bytes", pool_mib * kMiBOfMetrics},
      {"reth_something_else", false, "count", 1}};
  return scrape;
}

TEST(MetricHistory, ExplainsTheGrowthOfTheMemory) {
  MetricHistory history;
  for (std::uint64_t second = 1; second <= 60; ++second) {
    history.add_memory(second * kSecondOfMetrics, (100 + 4 * static_cast<double>(second)) * kMiBOfMetrics);
    history.add(
        scrape_at(second / 5 * 5 + 1, 10 + 2 * static_cast<double>(second / 5 * 5)));  // one in five seconds
  }
  const analysis::Components found = history.explain();
  ASSERT_EQ(found.components.size(), 1U);
  EXPECT_EQ(found.components[0].verdict, ComponentVerdict::kExplains);
  EXPECT_NEAR(found.components[0].share, 0.5, 0.01);
}

TEST(MetricHistory, AnotherProcessStartsOver) {
  MetricHistory history;
  history.add_memory(kSecondOfMetrics, 1);
  history.add(scrape_at(1, 10));
  history.begin_anew();
  EXPECT_TRUE(history.explain().empty());
  history.add(scrape_at(1, 10));
  EXPECT_TRUE(history.explain().empty()) << "a scrape of the one before";
  history.add(scrape_at(2, 10));
  EXPECT_FALSE(history.explain().empty());
}

TEST(MetricHistory, ASeriesThatIsNoLongerReportedIsGoneAndAFailedScrapeLosesNothing) {
  MetricHistory history;
  history.add(scrape_at(1, 10));
  metrics::Scrape failed;
  failed.time_ns = 2 * kSecondOfMetrics;
  failed.problem = "no answer";
  history.add(failed);
  EXPECT_FALSE(history.explain().empty());
  metrics::Scrape without = scrape_at(3, 10);
  without.values.erase(without.values.begin());
  history.add(without);
  EXPECT_TRUE(history.explain().empty());
}

TEST(MetricHistory, IsBounded) {
  MetricHistory history;
  for (std::uint64_t second = 1; second <= 2000; ++second) {
    metrics::Scrape scrape;
    scrape.time_ns = second * kSecondOfMetrics;
    for (int i = 0; i < (second == 1 ? 1000 : 1); ++i)
      scrape.values.push_back(
          {"near_rocksdb_cur_size_all_mem_tables{col=\"" + std::to_string(i) + "\"}", false, "bytes", 1});
    history.add(scrape);
    if (second == 1) {
      EXPECT_EQ(history.explain().components[0].series, 300U);
    }
  }
  EXPECT_NEAR(history.explain().seconds, 599, 1e-6);
}

}  // namespace
}  // namespace fathom::watch
