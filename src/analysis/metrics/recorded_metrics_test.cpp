#include "analysis/metrics/recorded_metrics.h"

#include <gtest/gtest.h>

#include "analysis/heap/hand_made_heap.h"

namespace fathom::analysis {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr double kMiB = 1 << 20;

void add(model::Profile& profile, std::string_view name, std::string_view unit, std::int32_t pid,
         double mib_per_s) {
  model::Series series;
  series.name = profile.strings.intern(name);
  series.unit = profile.strings.intern(unit);
  series.pid = pid;
  for (std::uint64_t second = 0; second < 20; ++second)
    series.points.push_back(
        {(100 + second) * kSecond, (50 + mib_per_s * static_cast<double>(second)) * kMiB});
  profile.series.push_back(std::move(series));
}

TEST(RecordedComponents, AreThoseOfTheProcessThatHasMetrics) {
  model::Profile profile;
  add(profile, "memory.rss_anon", "bytes", 6, 100);
  add(profile, "memory.rss_anon", "bytes", 7, 4);
  add(profile, "metric.reth_transaction_pool_pending_pool_size_bytes", "bytes", 7, 2);
  add(profile, "metric.reth_jemalloc_allocated", "bytes, counted", 7, 2);
  const auto found = recorded_components(profile);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->components.size(), 1U);
  EXPECT_EQ(found->components[0].verdict, ComponentVerdict::kExplains);
  EXPECT_NEAR(found->components[0].share, 0.5, 1e-9);
  EXPECT_TRUE(found->whole.empty()) << "what is counted is no size";
}

TEST(RecordedComponents, ThereAreNoneWithoutMetricsThatARuleKnows) {
  model::Profile profile;
  add(profile, "memory.rss_anon", "bytes", 7, 4);
  EXPECT_FALSE(recorded_components(profile));
  add(profile, "metric.unknown_bytes", "bytes", 7, 4);
  EXPECT_FALSE(recorded_components(profile));
}

TEST(RecordedComponents, AreNextToTheHeapOfTheirCrates) {
  HandMadeHeap hand = small_heap();  // of process 10, whose code is in namespace "server"
  add(hand.profile, "memory.rss_anon", "bytes", 10, 4);
  add(hand.profile, "metric.cache_bytes", "bytes", 10, 2);
  add(hand.profile, "metric.queue_bytes", "bytes", 10, 0);
  const auto rules = ComponentRules::parse(
      "bytes cache : server,nowhere : cache_bytes\nbytes queue : elsewhere : queue_bytes\n", "r.txt");
  ASSERT_TRUE(rules);
  const auto found = recorded_components(hand.profile, *rules);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->components.size(), 2U);
  EXPECT_EQ(found->components[0].component, "cache");
  ASSERT_EQ(found->components[0].heap.size(), 1U) << "a crate without any heap is not there";
  EXPECT_EQ(found->components[0].heap[0].crate, "server");
  EXPECT_EQ(found->components[0].heap[0].live_bytes, 1'002'560) << "the cache and the leak";
  EXPECT_EQ(found->components[0].heap[0].error_bytes, 0) << "every block was recorded";
  EXPECT_TRUE(found->components[1].heap.empty());
}

TEST(RecordedComponents, PointsInAnyOrderAreTaken) {
  model::Profile profile;
  add(profile, "memory.rss_anon", "bytes", 7, 4);
  add(profile, "metric.reth_transaction_pool_pending_pool_size_bytes", "bytes", 7, 2);
  for (model::Series& series : profile.series) std::reverse(series.points.begin(), series.points.end());
  EXPECT_NEAR(recorded_components(profile)->components[0].share, 0.5, 1e-9);
}

}  // namespace
}  // namespace fathom::analysis
