// What grows: leak candidates, growth with the work, and what may hide in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/verdicts/testing_server.h"

namespace fathom::analysis {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HeapVerdicts, WhatGrowsWhileTheWorkDoesNotIsALeakCandidate) {
  Server server;
  const auto leak = server.function("keep_session");
  for (int i = 0; i < 90; ++i) {
    server.second();
    server.row(leak, {10, 10'240});
  }
  const auto verdicts = server.verdicts();
  ASSERT_GE(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].kind, HeapVerdictKind::kGrowing);
  EXPECT_THAT(present::sentence_of(verdicts[0]),
              HasSubstr("The heap grows by 10.0 KiB/s (95 %: 10.0 KiB/s to 10.0 KiB/s), "
                        "35.2 MiB an hour, and does not level off; keep_session accounts for "
                        "100.0 % of that"));
  const HeapVerdict* found = find(verdicts, HeapVerdictKind::kLeak);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->function, "keep_session");
  EXPECT_EQ(found->confidence, Confidence::kHigh) << all_text(*found);
  EXPECT_NEAR(number(*found, "bytes_per_s"), 10'240, 1);
  EXPECT_NEAR(number(*found, "growth_share_percent"), 100, 1);
  EXPECT_THAT(all_text(*found), HasSubstr("keep_session in server (called by caller_of_keep_session)"));
  EXPECT_THAT(all_text(*found), HasSubstr("none of the 900 blocks that it allocated were freed"));
  EXPECT_THAT(all_text(*found), HasSubstr("R² 1.00"));
  EXPECT_THAT(present::advice_of(*found), HasSubstr("--metric heap-growth --callers keep_session"));
}

TEST(HeapVerdicts, ASlowLeakIsFoundNextToANoisyMap) {
  Server server;
  const auto leak = server.function("keep_session"), map = server.function("fill_map");
  unsigned seed = 7;
  double held = 0;
  for (int i = 0; i < 90; ++i) {
    server.second();
    server.row(leak, {10, 1'024});
    seed = seed * 1664525 + 1013904223;
    const double wanted = 3000 + (seed >> 16) % 6000;
    server.row(map, {std::max(0.0, wanted - held) + 10, (std::max(0.0, wanted - held) + 10) * 4096},
               {std::max(0.0, held - wanted) + 10, (std::max(0.0, held - wanted) + 10) * 4096});
    held = wanted;
  }
  const auto verdicts = server.verdicts();
  const HeapVerdict* found = find(verdicts, HeapVerdictKind::kLeak);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->function, "keep_session");
  EXPECT_FALSE(find(verdicts, HeapVerdictKind::kGrowing));
  EXPECT_FALSE(find(verdicts, HeapVerdictKind::kLeak, "fill_map"));
  const HeapVerdict* noise = find(verdicts, HeapVerdictKind::kNoise);
  ASSERT_TRUE(noise);
  EXPECT_THAT(present::sentence_of(*noise), HasSubstr(", which would hide growth of up to"));
  EXPECT_THAT(present::advice_of(*noise), HasSubstr("-d "));
}

// A swing that would hide a leak is no verdict against one.
TEST(HeapVerdicts, NoiseThatHidesALeakIsNeverCertain) {
  Server server;
  const auto leak = server.function("keep_session"), map = server.function("fill_map");
  unsigned seed = 7;
  double held = 0;
  for (int i = 0; i < 40; ++i) {
    server.second();
    server.row(leak, {100, 100'000});
    seed = seed * 1664525 + 1013904223;
    const double wanted = 3000 + (seed >> 16) % 6000;
    server.row(map, {std::max(0.0, wanted - held) + 10, (std::max(0.0, wanted - held) + 10) * 4096},
               {std::max(0.0, held - wanted) + 10, (std::max(0.0, held - wanted) + 10) * 4096});
    held = wanted;
  }
  bool seen = false;
  for (const HeapVerdict& verdict : server.verdicts()) {
    if (verdict.kind == HeapVerdictKind::kNoise) {
      EXPECT_EQ(verdict.confidence, Confidence::kLow) << all_text(verdict);
      EXPECT_GT(number(verdict, "unseen_bytes_per_s"), 100'000) << "the leak is not excluded";
      seen = true;
    }
    EXPECT_THAT(all_text(verdict), Not(HasSubstr("no leak")));
    if (verdict.kind == HeapVerdictKind::kCache && verdict.function == "fill_map") {
      EXPECT_THAT(all_text(verdict), HasSubstr("; record longer, or record every call (--heap=exact)"));
    }
  }
  EXPECT_TRUE(seen);
}

TEST(HeapVerdicts, WhatGrowsWithTheWorkIsNotCalledALeak) {
  Server server;
  const auto sessions = server.function("open_session");
  for (int i = 0; i < 90; ++i) {
    server.second(500 + 100 * i);
    server.row(sessions, {10, 10'240});
  }
  const auto verdicts = server.verdicts();
  const HeapVerdict* found = find(verdicts, HeapVerdictKind::kGrowsWithWork);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->function, "open_session");
  EXPECT_FALSE(find(verdicts, HeapVerdictKind::kLeak));
  EXPECT_GT(number(*found, "work_ratio"), 2);
}

// Work that grows by half does not explain memory that grows sixfold.
TEST(HeapVerdicts, WhatGrowsMuchFasterThanTheWorkIsALeakCandidate) {
  Server server;
  const auto sessions = server.function("open_session");
  for (int i = 0; i < 90; ++i) {
    server.second(1000 + 10 * i);
    server.row(sessions, {10, 10'240});
  }
  const auto verdicts = server.verdicts();
  EXPECT_FALSE(find(verdicts, HeapVerdictKind::kGrowsWithWork));
  const HeapVerdict* found = find(verdicts, HeapVerdictKind::kLeak);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->function, "open_session");
  EXPECT_GT(number(*found, "work_ratio"), 1.2) << "the work grows, too";
  EXPECT_THAT(present::sentence_of(*found), HasSubstr("faster than the work"));
}

TEST(HeapVerdicts, AFunctionOfNextToNoneOfTheGrowthIsLeftOut) {
  Server server;
  const auto leak = server.function("keep_session"), some = server.function("keep_cookie"),
             least = server.function("keep_flag");
  for (int i = 0; i < 90; ++i) {
    server.second();
    server.row(leak, {10, 1'000'000});
    server.row(some, {10, 8'000});   // 0.8 %
    server.row(least, {10, 2'000});  // 0.2 %
  }
  const auto verdicts = server.verdicts();
  EXPECT_TRUE(find(verdicts, HeapVerdictKind::kLeak, "keep_session"));
  EXPECT_TRUE(find(verdicts, HeapVerdictKind::kLeak, "keep_cookie"));
  EXPECT_FALSE(find(verdicts, HeapVerdictKind::kLeak, "keep_flag"));
}

// Where memory was recorded: a growth that the process does not show is another one.
TEST(HeapVerdicts, EveryGrowthIsReportedNextToThatOfTheProcess) {
  for (const double rss_per_s : {0.0, 5'120.0, 10'240.0, 1e6}) {
    Server server;
    const auto leak = server.function("keep_session");
    for (int i = 0; i < 90; ++i) {
      server.second();
      server.row(leak, {10, 10'240});
    }
    // The last reading finds a process that has ended: nothing of it was given back.
    server.rss([&](int second) { return second == 90 ? 0 : 50e6 + rss_per_s * second; }, 90);
    int growths = 0;
    for (const HeapVerdict& verdict : server.verdicts()) {
      if (verdict.kind != HeapVerdictKind::kGrowing && verdict.kind != HeapVerdictKind::kLeak) continue;
      ++growths;
      EXPECT_NEAR(number(verdict, "rss_bytes_per_s"), rss_per_s, 1);
      EXPECT_THAT(all_text(verdict), HasSubstr("the process's anonymous memory"));
    }
    EXPECT_EQ(growths, 2);
  }
}

// Two lives: requests of a millisecond, and sessions of the same function that never end.
TEST(HeapVerdicts, SurvivorsThatOutliveTheDeadAreEvidence) {
  Server server;
  const auto leak = server.function("keep_session");
  for (int i = 0; i < 90; ++i) {
    server.second();
    server.row(leak, {110, 112'640}, {100, 102'400});
  }
  const auto text = [&] {
    const auto verdicts = server.verdicts();
    const HeapVerdict* found = find(verdicts, HeapVerdictKind::kLeak);
    return found == nullptr ? std::string() : all_text(*found);
  };
  EXPECT_THAT(text(), Not(HasSubstr("had lived for less"))) << "lives were not recorded";
  const auto histogram = [&](model::HeapHistogramKind kind, std::uint8_t bucket, double blocks) {
    server.profile.heap.histograms.push_back({leak, kind, bucket, {blocks, 0}});
  };
  histogram(model::HeapHistogramKind::kLifetime, 20, 8900);  // up to 1.05 ms
  histogram(model::HeapHistogramKind::kLifetime, 30, 100);
  histogram(model::HeapHistogramKind::kAge, 36, 500);  // from 34 s on
  histogram(model::HeapHistogramKind::kAge, 33, 400);
  EXPECT_THAT(
      text(),
      HasSubstr(
          "half of its live blocks are older than 34.36 s; nine out of ten freed blocks lived for less than "));
}

// 20 KB/s next to a map of 200 MB that swings by 10 MB: the whole could hide it, the function cannot.
TEST(HeapVerdicts, TheWholeIsNotCalledLevelIfItCanHideALeak) {
  for (const bool leaks : {false, true}) {
    Server server;
    const auto leak = server.function("keep_session"), table = server.function("load_tables"),
               map = server.function("fill_map");
    unsigned seed = 3;
    double held = 0;
    for (int i = 0; i < 90; ++i) {
      server.second();
      if (i == 0) server.row(table, {1000, 2e8});
      if (leaks) server.row(leak, {20, 20'480});
      seed = seed * 1664525 + 1013904223;
      const double now = 1e4 * (1 + (seed >> 16) % 1000);
      server.row(map, {now / 1e3, now}, {held / 1e3, held});
      held = now;
    }
    const auto verdicts = server.verdicts();
    const HeapVerdict* found = find(verdicts, HeapVerdictKind::kLeak, "keep_session");
    ASSERT_EQ(found != nullptr, leaks);
    if (leaks) {
      EXPECT_NE(found->confidence, Confidence::kLow) << all_text(*found);
    }
    EXPECT_EQ(find(verdicts, HeapVerdictKind::kLevel) == nullptr, leaks) << all_text(verdicts[0]);
    EXPECT_EQ(find(verdicts, HeapVerdictKind::kNoise) != nullptr, leaks) << all_text(verdicts[0]);
  }
}

// Strings are made everywhere and go everywhere; those of one caller stay.
TEST(HeapVerdicts, ALeakOfOneCallerIsFoundBelowABusyFunction) {
  Server server;
  const auto make = server.frame(server.app(), {"make_string"}), root = server.frame(server.app(), {"main"});
  const auto log = server.frame(server.app(), {"append_log"}), serve = server.frame(server.app(), {"serve"});
  const auto kept = server.site(server.stack({root, log, make}), server.worker());
  const auto busy = server.site(server.stack({root, serve, make}), server.worker());
  unsigned seed = 3;
  double held = 0;
  for (int i = 0; i < 90; ++i) {
    server.second();
    server.row(kept, {10, 1'024});
    seed = seed * 1664525 + 1013904223;
    const double wanted = 3000 + (seed >> 16) % 6000;
    server.row(busy, {std::max(0.0, wanted - held) + 10, (std::max(0.0, wanted - held) + 10) * 4096},
               {std::max(0.0, held - wanted) + 10, (std::max(0.0, held - wanted) + 10) * 4096});
    held = wanted;
  }
  const auto verdicts = server.verdicts();
  const HeapVerdict* found = find(verdicts, HeapVerdictKind::kLeak);
  ASSERT_TRUE(found);
  EXPECT_THAT(present::sentence_of(*found),
              HasSubstr("one stack of make_string in server (called by append_log < main)"));
  ASSERT_FALSE(found->shares.empty());
  EXPECT_EQ(found->shares[0].path, (std::vector<std::string>{"make_string", "append_log", "main"}));
}

TEST(HeapVerdicts, ALeakNamesItsHeaviestStacks) {
  Server server;
  const auto make = server.frame(server.app(), {"make_string"}), root = server.frame(server.app(), {"main"});
  const auto log = server.frame(server.app(), {"append_log"}), serve = server.frame(server.app(), {"serve"});
  const auto most = server.site(server.stack({root, log, make}), server.worker());
  const auto rest = server.site(server.stack({root, serve, make}), server.worker());
  for (int i = 0; i < 90; ++i) {
    server.second();
    server.row(most, {10, 3'000});
    server.row(rest, {10, 1'000});
  }
  const auto verdicts = server.verdicts();
  const HeapVerdict* found = find(verdicts, HeapVerdictKind::kLeak);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->shares.size(), 2u);
  EXPECT_EQ(found->shares[0].path[1], "append_log");
  EXPECT_NEAR(found->shares[0].share, 0.75, 0.02);
  EXPECT_EQ(found->shares[1].path[1], "serve");
}

}  // namespace
}  // namespace fathom::analysis
