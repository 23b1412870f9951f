// What stays: level heaps, caches, bloat, steps, and what is live or freed at the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/verdicts/testing_server.h"

namespace fathom::analysis {
namespace {

using model::HeapMode;
using testing::HasSubstr;

TEST(HeapVerdicts, ACacheIsLevelAndItsBlocksAreReplaced) {
  Server server;
  const auto cache = server.function("put");
  for (int i = 0; i < 90; ++i) {
    server.second();
    server.row(cache, {100, 102'400}, {i < 20 ? 0.0 : 100.0, i < 20 ? 0.0 : 102'400.0});
  }
  const auto verdicts = server.verdicts();
  const HeapVerdict* found = find(verdicts, HeapVerdictKind::kCache);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->function, "put");
  EXPECT_THAT(present::sentence_of(*found), HasSubstr("Bounded cache: put in server"));
  EXPECT_NEAR(number(*found, "mean_life_s"), 20, 2);
  EXPECT_FALSE(find(verdicts, HeapVerdictKind::kLeak));
  const HeapVerdict* level = find(verdicts, HeapVerdictKind::kLevel);
  ASSERT_TRUE(level);
  EXPECT_THAT(present::sentence_of(*level), HasSubstr("level at 2.0 MiB since the end of its warm-up"));
}

TEST(HeapVerdicts, WhatStaysIsBloatWithItsSizes) {
  Server server;
  const auto huge = server.function("load_model"), small = server.function("index_words");
  for (int i = 0; i < 90; ++i) {
    server.second();
    if (i == 0) server.row(huge, {4, 40e6});
    if (i == 0) server.row(small, {1e6, 32e6});
  }
  server.profile.heap.histograms = {{huge, model::HeapHistogramKind::kSize, 24, {4, 40e6}},
                                    {small, model::HeapHistogramKind::kSize, 6, {1e6, 32e6}}};
  const auto verdicts = server.verdicts();
  const HeapVerdict *few = find(verdicts, HeapVerdictKind::kBloat, "load_model"),
                    *many = find(verdicts, HeapVerdictKind::kBloat, "index_words");
  ASSERT_TRUE(few);
  ASSERT_TRUE(many);
  EXPECT_THAT(all_text(*few), HasSubstr("in 4 blocks of 9.5 MiB on average"));
  EXPECT_THAT(all_text(*few), HasSubstr("few huge blocks"));
  EXPECT_THAT(all_text(*many), HasSubstr("100.0 % of its bytes are in blocks of 32 bytes to 64 bytes"));
  EXPECT_THAT(all_text(*many), HasSubstr("many small blocks"));
}

TEST(HeapVerdicts, BlocksFreedOnlyAtTheEndAreSeparateFromLeaks) {
  Server server;
  const auto tables = server.function("load_tables"), lost = server.function("lose");
  for (int i = 0; i < 90; ++i) {
    server.second();
    if (i == 0) server.row(tables, {100, 1e6});
    if (i == 0) server.row(lost, {100, 1e5});
    if (i == 89) server.row(tables, {}, {100, 1e6});
  }
  EXPECT_FALSE(find(server.verdicts(), HeapVerdictKind::kFreedAtExit));  // it was not seen to end
  server.end_program();
  const auto verdicts = server.verdicts();
  const HeapVerdict* freed = find(verdicts, HeapVerdictKind::kFreedAtExit);
  ASSERT_TRUE(freed);
  EXPECT_EQ(freed->function, "load_tables");
  EXPECT_THAT(present::sentence_of(*freed), HasSubstr("976.6 KiB in 100 blocks were live until the last"));
  EXPECT_THAT(all_text(*freed), HasSubstr("97.7 KiB in 100 blocks were never freed"));
  const HeapVerdict* unfreed = find(verdicts, HeapVerdictKind::kUnfreed);
  ASSERT_TRUE(unfreed);
  EXPECT_EQ(unfreed->function, "lose");
}

TEST(HeapVerdicts, WhatIsFlushedNowAndThenIsNotKeptToTheEnd) {
  Server server;
  const auto batch = server.function("collect_batch"), tables = server.function("load_tables");
  double held = 0;
  for (int i = 0; i < 90; ++i) {
    server.second();
    if (i == 0) server.row(tables, {10, 1e5});
    const bool flushes = i % 10 == 4;
    server.row(batch, {100, 1e6}, flushes ? model::HeapSum{held / 1e4, held} : model::HeapSum{});
    held = flushes ? 1e6 : held + 1e6;
    if (i == 89) server.row(batch, {}, {held / 1e4, held});
    if (i == 89) server.row(tables, {}, {10, 1e5});
  }
  server.end_program();
  const auto verdicts = server.verdicts();
  const HeapVerdict* freed = find(verdicts, HeapVerdictKind::kFreedAtExit);
  ASSERT_TRUE(freed);
  EXPECT_EQ(freed->function, "collect_batch") << "one batch is always there";
  EXPECT_NEAR(freed->bytes, 1.1e6, 1e4) << "and not the nine that were collected when it ended";
}

TEST(HeapVerdicts, WhatASignalEndedHadNoChanceToFree) {
  Server server;
  const auto sessions = server.function("keep_session");
  for (int i = 0; i < 90; ++i) {
    server.second();
    if (i == 0) server.row(sessions, {100, 1e6});
  }
  server.end_program();
  server.profile.meta.facts["signal"] = "9";
  const auto verdicts = server.verdicts();
  EXPECT_FALSE(find(verdicts, HeapVerdictKind::kFreedAtExit));
  const HeapVerdict* live = find(verdicts, HeapVerdictKind::kUnfreed);
  ASSERT_TRUE(live);
  EXPECT_THAT(present::sentence_of(*live), HasSubstr("Live when SIGKILL ended the program: 976.6 KiB"));
}

TEST(HeapVerdicts, AnAttachedProgramThatWasKilledHadNoChanceEither) {
  Server server;
  const auto sessions = server.function("keep_session");
  for (int i = 0; i < 90; ++i) {
    server.second();
    if (i == 0) server.row(sessions, {100, 1e6});
  }
  server.end_program();
  model::Process& process = server.profile.processes[server.profile.heap.heaps[0].process.value];
  process.parent_pid = 1;
  auto& facts = server.profile.meta.facts;
  const auto sentence = [&] {
    const auto verdicts = server.verdicts();
    const HeapVerdict* live = find(verdicts, HeapVerdictKind::kUnfreed);
    return live == nullptr ? std::string() : present::sentence_of(*live);
  };
  facts["ended_pid"] = std::to_string(process.pid);
  EXPECT_THAT(sentence(), HasSubstr("Live when the program ended (how it ended is unknown): 976.6 KiB"));
  facts["exit"] = "0";
  EXPECT_THAT(sentence(), HasSubstr("Not freed when the program ended"));
  facts.erase("exit");
  facts["signal"] = "11";
  EXPECT_THAT(sentence(), HasSubstr("Live when SIGSEGV ended the program: 976.6 KiB"));
  facts["ended_pid"] = std::to_string(process.pid + 1);
  EXPECT_THAT(sentence(), HasSubstr("Not freed when the program ended")) << "another one was killed";
}

TEST(HeapVerdicts, LevelSaysWhichGrowthItWouldNotShow) {
  Server server(HeapMode::kSampled);
  server.profile.heap.heaps[0].mean_bytes = 512 << 10;
  const auto cache = server.function("fill_cache");
  for (int i = 0; i < 61; ++i) {
    server.second();
    if (i == 0) server.row(cache, {100, 1e6});
  }
  const auto verdicts = server.verdicts();
  const HeapVerdict* level = find(verdicts, HeapVerdictKind::kLevel);
  ASSERT_TRUE(level);
  // Five mean distances of 512 KiB in 60 s.
  EXPECT_THAT(present::sentence_of(*level), HasSubstr("; growth below 42.7 KiB/s would not be visible in "))
      << all_text(*level);
}

// Samples see nothing of it, and the kernel counts every page: no heap is level where that much may hide.
TEST(HeapVerdicts, ALevelOfSamplesThatCanHideTheGrowthOfTheProcessIsNone) {
  for (const double per_s : {0.0, 40.0 * 1024, 400.0 * 1024}) {
    Server server(HeapMode::kSampled);
    server.profile.heap.heaps[0].mean_bytes = 512 << 10;
    const auto cache = server.function("fill_cache");
    for (int i = 0; i < 61; ++i) {
      server.second();
      if (i == 0) server.row(cache, {100, 1e6});
    }
    server.rss([&](int second) { return 2e7 + per_s * second; }, 61);
    const auto verdicts = server.verdicts();
    // Samples that stand for 512 KiB would show ten times as much.
    const bool hides = per_s == 40.0 * 1024;
    const HeapVerdict* level = find(verdicts, HeapVerdictKind::kLevel);
    ASSERT_EQ(level == nullptr, hides) << per_s;
    if (!hides) continue;
    EXPECT_TRUE(verdicts[0].facts.of_process);
    EXPECT_THAT(all_text(verdicts[0]), HasSubstr("--heap=exact"));
  }
}

TEST(HeapVerdicts, ALevelHeapInAProcessThatGrowsIsDoubted) {
  for (const bool grows : {false, true}) {
    Server server;
    const auto cache = server.function("fill_cache");
    for (int i = 0; i < 90; ++i) {
      server.second();
      if (i == 0) server.row(cache, {100, 1e7});
    }
    server.rss([&](int second) { return 2e7 + (grows ? 1e6 * second : 0); }, 90);
    const auto verdicts = server.verdicts();
    const HeapVerdict* level = find(verdicts, HeapVerdictKind::kLevel);
    ASSERT_TRUE(level);
    EXPECT_EQ(all_text(*level).find("allocators hold more than the live blocks") != std::string::npos, grows)
        << all_text(*level);
  }
}

TEST(HeapVerdicts, FewJumpsAreSteps) {
  Server server;
  const auto table = server.function("rehash");
  for (int i = 0; i < 90; ++i) {
    server.second();
    if (i == 0) server.row(table, {1, 1e6});
    if (i == 20) server.row(table, {1, 4e6}, {1, 1e6});
    if (i == 70) server.row(table, {1, 16e6}, {1, 4e6});
  }
  const auto verdicts = server.verdicts();
  EXPECT_FALSE(find(verdicts, HeapVerdictKind::kLeak));
  const HeapVerdict* found = find(verdicts, HeapVerdictKind::kSteps, "rehash");
  ASSERT_TRUE(found);
  EXPECT_THAT(present::sentence_of(*found), HasSubstr("rose by 14.3 MiB in"));
  EXPECT_EQ(found->confidence, Confidence::kLow);
}

// A linear queue among blocks that are replaced, with noise: a slope whose interval lies above zero is never a cache.
TEST(HeapVerdicts, WhatRisesIsNeverACache) {
  int caches = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, 4e6);
    Server server;
    const auto queue = server.function("push_transaction");
    double live = 0;
    for (int i = 0; i < 120; ++i) {
      server.second();
      const double wanted = std::max(0.0, 2e7 + i * 5e4 + noise(random));
      const double added = std::max(0.0, wanted - live) + 2e6;
      const double freed = std::min(live + added, std::max(0.0, live - wanted) + 2e6);
      server.row(queue, {added / 1000, added}, {freed / 1000, freed});
      live += added - freed;
    }
    for (const HeapVerdict& verdict : server.verdicts()) {
      if (verdict.kind != HeapVerdictKind::kCache && verdict.kind != HeapVerdictKind::kBloat) continue;
      ++caches;
      ASSERT_TRUE(verdict.trend);
      EXPECT_LE(verdict.trend->slope.low, 0) << all_text(verdict);
    }
  }
  RecordProperty("caches", caches);
}

}  // namespace
}  // namespace fathom::analysis
