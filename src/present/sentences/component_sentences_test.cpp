#include "present/sentences/component_sentences.h"

#include <gtest/gtest.h>

namespace fathom::present {
namespace {

using analysis::MetricSeries;
using analysis::TimedValue;

constexpr double kMiB = 1 << 20;

std::vector<TimedValue> growing(double first, double per_s, double seconds = 100) {
  std::vector<TimedValue> points;
  for (double time = 0; time <= seconds; time += 5) points.push_back({time, first + per_s * time});
  return points;
}
std::vector<std::string> sentences(const std::vector<MetricSeries>& series,
                                   const std::vector<TimedValue>& memory) {
  return sentences_of(analysis::explain_growth(series, memory));
}

TEST(ComponentSentences, OfGrowth) {
  EXPECT_EQ(
      sentences({{"reth_transaction_pool_pending_pool_size_bytes", false, growing(100 * kMiB, 3 * kMiB)},
                 {"reth_rpc_eth_cache_cached_bytes", false, growing(50 * kMiB, 0)},
                 {"reth_blockchain_tree_block_buffer_blocks", false, growing(10, 1)},
                 {"reth_jemalloc_allocated", false, growing(800 * kMiB, 4 * kMiB)},
                 {"reth_jemalloc_resident", false, growing(900 * kMiB, 4 * kMiB)}},
                growing(1000 * kMiB, 4 * kMiB)),
      (std::vector<std::string>{
          "Anonymous memory grows by 4.0 MiB/s (over 100 s); the program's metrics "
          "explain 75 %: transactions, pending pool "
          "75 % (75 % to 75 %), now 400.0 MiB, of crate reth_transaction_pool.",
          "Ruled out: RPC cache (50.0 MiB).",
          "More components, with unknown size in bytes: blocks in the block buffer (10 to 110).",
          "Its allocator reports 1.2 GiB live, 1.3 GiB resident; live blocks are "
          "100 % of the growth."}));
}

TEST(ComponentSentences, OfGrowthThatNoComponentExplains) {
  EXPECT_EQ(
      sentences({{"reth_rpc_eth_cache_cached_bytes", false, growing(50 * kMiB, 0)},
                 {"reth_jemalloc_allocated", false, growing(800 * kMiB, 0)}},
                growing(1000 * kMiB, 4 * kMiB)),
      (std::vector<std::string>{
          "Anonymous memory grows by 4.0 MiB/s (over 100 s); none of the "
          "components that the program's metrics name "
          "explains it.",
          "Ruled out: RPC cache (50.0 MiB).",
          "Its allocator reports 800.0 MiB live; live blocks do not grow with it, so it is free memory that the allocator keeps, or memory that another allocator or the program maps."}));
}

TEST(ComponentSentences, OfOneScrapeAreSizes) {
  EXPECT_EQ(
      sentences({{"near_rocksdb_block_cache_usage", false, {{0, 50 * kMiB}}},
                 {"near_memtrie_arena_memory_usage_bytes{shard_uid=\"s0\"}", false, {{0, 100 * kMiB}}},
                 {"near_memtrie_arena_memory_usage_bytes{shard_uid=\"s1\"}", false, {{0, 100 * kMiB}}},
                 {"store_beacon_block_cache_size", false, {{0, 5}}}},
                {{0, 1000 * kMiB}}),
      (std::vector<std::string>{
          "From the program's metrics, of 1000.0 MiB anonymous memory: trie in memory 200.0 MiB (20.0 %); "
          "RocksDB block cache 50.0 MiB (5.0 %).",
          "Counts that use memory: blocks in the store's cache (5)."}));
}

TEST(ComponentSentences, OfAComponentWhoseCrateHasRecordedHeap) {
  analysis::Components found;
  found.memory = analysis::Slope{4 * kMiB, 3 * kMiB, 5 * kMiB};
  found.seconds = 100;
  found.explained = 0.5;
  analysis::ComponentGrowth pool;
  pool.component = "pool";
  pool.crates = {"reth_transaction_pool"};
  pool.heap = {{"reth_transaction_pool", 30 * kMiB, 0}};
  pool.verdict = analysis::ComponentVerdict::kExplains;
  pool.share = 0.5, pool.share_low = 0.4, pool.share_high = 0.6;
  pool.last = 20 * kMiB;
  found.components = {pool};
  EXPECT_EQ(sentences_of(found),
            (std::vector<std::string>{
                "Anonymous memory grows by 4.0 MiB/s (over 100 s); the program's metrics explain 50 %: pool "
                "50 % (40 % "
                "to 60 %), now 20.0 MiB, of crate reth_transaction_pool (30.0 MiB live at the heap sites of "
                "reth_transaction_pool)."}));
}

TEST(ComponentSentences, TheFirstScreenHasWhatExplainsMostOfTheGrowth) {
  const auto headline = [](double pool_per_s) {
    return component_headline(
        analysis::explain_growth(std::vector<MetricSeries>{{"reth_transaction_pool_pending_pool_size_bytes",
                                                            false, growing(100 * kMiB, pool_per_s)}},
                                 growing(1000 * kMiB, 4 * kMiB)));
  };
  EXPECT_EQ(headline(3 * kMiB),
            "The program's own metrics explain 75 % of that growth: transactions, pending pool 75 %, now "
            "400.0 MiB.");
  EXPECT_EQ(headline(1 * kMiB), "") << "less than half is no answer";
}

// reth's guide to memory: a component that grows beyond 2 GB is likely a bug.
TEST(ComponentSentences, AnUnusuallyLargeComponentIsLikelyABug) {
  const auto of = [](double mib) {
    return analysis::explain_growth(
        std::vector<MetricSeries>{
            {"reth_downloaders_bodies_buffered_blocks_size_bytes", false, {{0, mib * kMiB}}}},
        std::vector<TimedValue>{{0, 5000 * kMiB}});
  };
  EXPECT_EQ(component_headline(of(2000)), "");
  const std::string sentence =
      "Likely a bug: block bodies that were downloaded hold 2.5 GiB; at least 2.0 GiB is unusual for that.";
  EXPECT_EQ(component_headline(of(2560)), sentence);
  EXPECT_EQ(sentences_of(of(2560)).back(), sentence);
}

TEST(ComponentSentences, OfNothingThereAreNone) {
  EXPECT_TRUE(sentences({}, growing(0, 1)).empty());
}

}  // namespace
}  // namespace fathom::present
