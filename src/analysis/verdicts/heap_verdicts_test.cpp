#include "analysis/verdicts/heap_verdicts.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "analysis/core/words.h"
#include "analysis/heap/hand_made_heap.h"
#include "model/random_profile.h"
#include "present/sentences/heap_verdict_sentences.h"

namespace fathom::analysis {
namespace {

using model::HeapMode;
using testing::HasSubstr;
using testing::Not;

// So many seconds of a server that answers 1000 requests a second, and whatever a test adds to it.
class Server : public HandMadeHeap {
 public:
  explicit Server(HeapMode mode = HeapMode::kExact, bool from_start = true) : HandMadeHeap(mode) {
    app_ = module("server");
    process_ = process(10, "server");
    thread_ = thread(process_, 11, "worker");
    profile.heap.heaps[0].process = process_;
    profile.heap.heaps[0].from_start = from_start;
    request_ = function("handle_request");
  }
  model::HeapSiteId function(const std::string& name) {
    return site(stack({frame(app_, {"main"}), frame(app_, {"caller_of_" + name}), frame(app_, {name})}),
                thread_);
  }
  void second(double requests = 1000) {
    slice();
    row(request_, {requests, requests * 100}, {requests, requests * 100});
    profile.meta.end_ns = profile.heap.slices.back().end_ns;
  }
  void end_program() { profile.processes[process_.value].end_ns = profile.meta.end_ns; }
  void rss(const std::function<double(int)>& value, int seconds) {
    model::Series series{builder.string("memory.rss_anon"), builder.string("bytes"), 10, {}};
    for (int i = 0; i <= seconds; ++i)
      series.points.push_back(
          {profile.meta.start_ns + static_cast<std::uint64_t>(i) * 1'000'000'000, value(i)});
    profile.series.push_back(series);
  }
  std::vector<HeapVerdict> verdicts(const Selection& selection = {}) {
    return judge_heap(profile, selection, HeapSums(profile, selection));
  }
  model::ThreadId worker() const { return thread_; }
  model::ModuleId app() const { return app_; }

 private:
  model::ModuleId app_;
  model::ProcessId process_;
  model::ThreadId thread_;
  model::HeapSiteId request_;
};

const HeapVerdict* find(const std::vector<HeapVerdict>& verdicts, HeapVerdictKind kind,
                        const std::string& function = "") {
  for (const HeapVerdict& verdict : verdicts)
    if (verdict.kind == kind && (function.empty() || verdict.function == function)) return &verdict;
  return nullptr;
}
std::string all_text(const HeapVerdict& verdict) {
  return fmt::format("{} [{}] {} | {} | {}", present::sentence_of(verdict), to_string(verdict.confidence),
                     fmt::join(present::evidence_of(verdict), "; "),
                     fmt::join(present::doubts_of(verdict), "; "), present::advice_of(verdict));
}
double number(const HeapVerdict& verdict, const std::string& name) {
  for (const auto& [key, value] : verdict.numbers)
    if (key == name) return value;
  return NAN;
}

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
                        "35.2 MiB an hour, and does not level off; of that 100.0 % by "
                        "keep_session"));
  const HeapVerdict* found = find(verdicts, HeapVerdictKind::kLeak);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->function, "keep_session");
  EXPECT_EQ(found->confidence, Confidence::kHigh) << all_text(*found);
  EXPECT_NEAR(number(*found, "bytes_per_s"), 10'240, 1);
  EXPECT_NEAR(number(*found, "growth_share_percent"), 100, 1);
  EXPECT_THAT(all_text(*found), HasSubstr("keep_session in server (called by caller_of_keep_session)"));
  EXPECT_THAT(all_text(*found), HasSubstr("none of the 900 blocks that it allocated were freed"));
  EXPECT_THAT(all_text(*found), HasSubstr("R² 1.00"));
  EXPECT_THAT(present::advice_of(*found), HasSubstr("--metric heap-growth --callers 'keep_session'"));
}

TEST(HeapVerdicts, ASlowLeakIsFoundBesideANoisyMap) {
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
  EXPECT_THAT(present::sentence_of(*noise),
              HasSubstr("Not known whether the heap grows: live bytes swing by"));
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
      EXPECT_THAT(all_text(verdict), HasSubstr("whether it leaks as well is not known"));
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

TEST(HeapVerdicts, ChurnIsJoinedWithTheCpuOfTheAllocators) {
  Server server;
  const auto churn = server.function("copy_line");
  for (int i = 0; i < 30; ++i) {
    server.second();
    auto& row = server.row(churn, {50'000, 5e6}, {50'000, 5e6});
    row.temporary = {49'000, 4.9e6};
  }
  const auto before = server.verdicts();
  const HeapVerdict* unknown = find(before, HeapVerdictKind::kChurn);
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->function, "copy_line");
  EXPECT_THAT(present::sentence_of(*unknown),
              HasSubstr("allocates 50,000 times and 4.8 MiB a second, 98.0 % of all calls"));
  EXPECT_THAT(all_text(*unknown), HasSubstr("what it costs is not known"));

  const auto libc = server.module("libc.so.6");
  const auto copy = server.frame(server.app(), {"copy_line"});
  server.sample(server.worker(), server.stack({copy, server.frame(libc, {"malloc"})}), 300);
  server.sample(server.worker(), server.stack({copy}), 700, 3);
  const auto after = server.verdicts();
  const HeapVerdict* known = find(after, HeapVerdictKind::kChurn);
  ASSERT_TRUE(known);
  EXPECT_THAT(all_text(*known),
              HasSubstr("the allocators take 30.0 % ±2.8 % of all CPU time, 100.0 % of that "
                        "for this function"));
  EXPECT_EQ(known->confidence, Confidence::kHigh);
}

TEST(HeapVerdicts, ChurnOfFewSamplesIsDoubtedOrChance) {
  for (const double relative_error : {0.1, 0.5, 2.0}) {
    Server server(HeapMode::kSampled);
    const auto churn = server.function("copy_line");
    for (int i = 0; i < 30; ++i) {
      server.second();
      auto& row = server.row(churn, {50'000, 5e6}, {50'000, 5e6});
      row.short_lived = {50'000, 5e6};
      const double deviation = relative_error * 30 * 50'000 / 1.96;
      row.allocated_variance = row.freed_variance = {deviation * deviation / 30, 1};
    }
    const auto verdicts = server.verdicts();
    const HeapVerdict* found = find(verdicts, HeapVerdictKind::kChurn);
    EXPECT_EQ(found != nullptr, relative_error < 1);
    if (found == nullptr) continue;
    const bool is_doubted =
        all_text(*found).find("few of its blocks were sampled: ±56.1 %") != std::string::npos;
    EXPECT_EQ(is_doubted, relative_error > 0.25) << all_text(*found);
  }
}

TEST(HeapVerdicts, APeakSaysWhenAndOfWhat) {
  Server server;
  const auto base = server.function("load"), spike = server.function("sort_all");
  for (int i = 0; i < 60; ++i) {
    server.second();
    if (i == 0) server.row(base, {10, 1e6});
    if (i == 30) server.row(spike, {10, 9e6});
    if (i == 32) server.row(spike, {}, {10, 9e6});
  }
  server.peak(31.5, {{base, {10, 1e6}}, {spike, {10, 9e6}}});
  const auto verdicts = server.verdicts();
  const HeapVerdict* found = find(verdicts, HeapVerdictKind::kPeak);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->function, "sort_all");
  EXPECT_THAT(present::sentence_of(*found),
              HasSubstr("Peak of 9.5 MiB at 31.50 s, 10.0 times the usual 976.6 KiB; what is more "
                        "than usual: 100.0 % by sort_all in server"));
  EXPECT_FALSE(find(verdicts, HeapVerdictKind::kLeak));
}

TEST(HeapVerdicts, WhatIsFreedOnlyAtTheEndIsToldFromWhatIsNot) {
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
  EXPECT_THAT(sentence(), HasSubstr("Live when the program ended, how is not known: 976.6 KiB"));
  facts["exit"] = "0";
  EXPECT_THAT(sentence(), HasSubstr("Not freed when the program ended"));
  facts.erase("exit");
  facts["signal"] = "11";
  EXPECT_THAT(sentence(), HasSubstr("Live when SIGSEGV ended the program: 976.6 KiB"));
  facts["ended_pid"] = std::to_string(process.pid + 1);
  EXPECT_THAT(sentence(), HasSubstr("Not freed when the program ended")) << "another one was killed";
}

// Where memory was recorded: a growth that the process does not show is another one.
TEST(HeapVerdicts, EveryGrowthIsToldBesideThatOfTheProcess) {
  for (const double rss_per_s : {0.0, 5'120.0, 10'240.0, 1e6}) {
    Server server;
    const auto leak = server.function("keep_session");
    for (int i = 0; i < 90; ++i) {
      server.second();
      server.row(leak, {10, 10'240});
    }
    server.rss([&](int second) { return 50e6 + rss_per_s * second; }, 90);
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

// Two lives: requests of a millisecond, and sessions of the same function that nobody ends.
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
      HasSubstr("half of its live blocks are older than 34.36 s; nine of ten of those that were freed "
                "had lived for less than 1.05 ms"));
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
  EXPECT_THAT(present::sentence_of(*level),
              HasSubstr("a growth below 42.7 KiB/s would not be seen in 60.00 s"))
      << all_text(*level);
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
    EXPECT_EQ(all_text(*level).find("allocators hold more beyond live blocks") != std::string::npos, grows)
        << all_text(*level);
  }
}

// 20 KB/s beside a map of 200 MB that swings by 10 MB: the whole could hide it, the function cannot.
TEST(HeapVerdicts, WhatTheWholeCanHideIsNotCalledLevelBesideALeak) {
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

TEST(HeapVerdicts, AttachedRecordingsMayOnlySeeOldBlocksBeingReplaced) {
  for (const bool grows : {false, true}) {
    Server server(HeapMode::kExact, false);
    const auto keys = server.function("set_key");
    for (int i = 0; i < 90; ++i) {
      server.second();
      server.row(keys, {100, 1e6});
    }
    server.rss([&](int i) { return 500e6 + (grows ? 1e6 * i : 0); }, 90);
    const auto verdicts = server.verdicts();
    EXPECT_EQ(find(verdicts, HeapVerdictKind::kLeak, "set_key") != nullptr, grows);
    EXPECT_EQ(find(verdicts, HeapVerdictKind::kTurnover, "set_key") != nullptr, !grows);
  }
  Server unknown(HeapMode::kExact, false);
  const auto keys = unknown.function("set_key");
  for (int i = 0; i < 90; ++i) {
    unknown.second();
    unknown.row(keys, {100, 1e6});
  }
  const auto verdicts = unknown.verdicts();
  const HeapVerdict* found = find(verdicts, HeapVerdictKind::kLeak);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->confidence, Confidence::kMedium);
  EXPECT_THAT(all_text(*found), HasSubstr("blocks from before the recording are not seen"));
}

TEST(HeapVerdicts, SampledOnesCarryTheSamplingError) {
  for (const double variance : {1e6, 1e13}) {
    Server server(HeapMode::kSampled);
    const auto leak = server.function("keep_session");
    for (int i = 0; i < 90; ++i) {
      server.second();
      server.row(leak, {10, 1e5}).allocated_variance = {1, variance};
    }
    const auto verdicts = server.verdicts();
    EXPECT_EQ(find(verdicts, HeapVerdictKind::kLeak) != nullptr, variance < 1e7);
    const HeapVerdict* whole =
        find(verdicts, variance < 1e7 ? HeapVerdictKind::kGrowing : HeapVerdictKind::kNoise);
    ASSERT_TRUE(whole) << variance;
    EXPECT_GT(whole->trend->slope.high - whole->trend->slope.low, 0);
  }
}

TEST(HeapVerdicts, ShortRecordingsSaySo) {
  Server server;
  for (int i = 0; i < 4; ++i) {
    server.second();
    server.row(server.function("load"), {10, 1e6});
  }
  const auto verdicts = server.verdicts();
  ASSERT_FALSE(verdicts.empty());
  EXPECT_EQ(verdicts[0].kind, HeapVerdictKind::kTooShort);
  EXPECT_THAT(present::sentence_of(verdicts[0]), HasSubstr("4.00 s in 4 slices of time are too short"));
  EXPECT_THAT(present::advice_of(verdicts[0]), HasSubstr("-d 30"));
}

TEST(HeapVerdicts, AProgramOfOneSliceHasNoUsualLevel) {
  Server server;
  server.second();
  server.row(server.function("load"), {10, 1e6});
  server.peak(0.9, {{{1}, {10, 1e6}}});
  server.end_program();
  const auto verdicts = server.verdicts();
  ASSERT_FALSE(verdicts.empty());
  EXPECT_THAT(present::sentence_of(verdicts[0]), HasSubstr("1.00 s in 1 slice of time are too short"));
  EXPECT_THAT(present::advice_of(verdicts[0]), HasSubstr("give the program work for at least 30 s"));
  EXPECT_FALSE(find(verdicts, HeapVerdictKind::kPeak));
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

TEST(HeapVerdicts, ErrorsOfThoseWhoFreeComeFirst) {
  Server server;
  const auto glibc = server.allocator("glibc 2.36", server.module("libc.so.6"));
  const auto wrong = server.function("Shape::clone"), foreign = server.function("read_line");
  server.profile.heap.sites[foreign.value].allocator = glibc;
  for (int i = 0; i < 90; ++i) {
    server.second();
    server.row(wrong, {10, 10'240});
    server.row(foreign, {10, 1'000}, {10, 1'000});
  }
  server.profile.heap.uses = {{wrong, 1'843'200, {900, 21'600}, {}}, {foreign, 0, {}, {3, 300}}};
  const auto verdicts = server.verdicts();
  ASSERT_GE(verdicts.size(), 3u);
  EXPECT_EQ(verdicts[0].kind, HeapVerdictKind::kForeignFree);
  EXPECT_EQ(verdicts[0].function, "read_line");
  EXPECT_THAT(present::sentence_of(verdicts[0]),
              HasSubstr("3 blocks of read_line in server (called by caller_of_read_line) were "
                        "freed through another allocator than the one that gave them "
                        "(glibc 2.36)"));
  EXPECT_EQ(verdicts[1].kind, HeapVerdictKind::kWrongSize);
  EXPECT_THAT(present::sentence_of(verdicts[1]), HasSubstr("900 blocks of Shape::clone"));
  const HeapVerdict* slack = find(verdicts, HeapVerdictKind::kSlack);
  ASSERT_TRUE(slack);
  EXPECT_THAT(present::sentence_of(*slack),
              HasSubstr("Of 1.8 MiB that the allocators set aside for what is live at the end, "
                        "900.0 KiB (50.0 %) were not asked for; 100.0 % of that for Shape::clone"));
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

TEST(HeapVerdicts, NothingIsSaidOfNothing) {
  HandMadeHeap empty;
  empty.process(1, "app");
  EXPECT_TRUE(judge_heap(empty.profile, {}, HeapSums(empty.profile, {})).empty());
}

TEST(HeapVerdicts, LostEventsMakeThemLessCertain) {
  Server server;
  const auto leak = server.function("keep_session");
  for (int i = 0; i < 90; ++i) {
    server.second();
    server.row(leak, {10, 10'240});
  }
  server.profile.heap.heaps[0].lost_ring_full = server.profile.heap.heaps[0].events / 10;
  const auto verdicts = server.verdicts();
  const HeapVerdict* found = find(verdicts, HeapVerdictKind::kLeak);
  ASSERT_TRUE(found);
  EXPECT_THAT(all_text(*found), HasSubstr("events were lost ("));
  EXPECT_EQ(found->confidence, Confidence::kMedium);
}

TEST(HeapVerdicts, FewLostEventsAreToldAndADamagedRingIsNoFew) {
  Server server;
  const auto leak = server.function("keep_session");
  for (int i = 0; i < 90; ++i) {
    server.second();
    server.row(leak, {10, 10'240});
  }
  model::Heap& heap = server.profile.heap.heaps[0];
  heap.events = 1'000'000;
  const auto confidence = [&] {
    const auto verdicts = server.verdicts();
    const HeapVerdict* found = find(verdicts, HeapVerdictKind::kLeak);
    return found == nullptr ? std::nullopt : std::optional(found->confidence);
  };
  const auto of_a_whole_one = confidence();
  heap.lost_ring_full = 1;
  EXPECT_EQ(confidence(), of_a_whole_one);
  heap.lost_damaged = 1;  // nobody knows how many events it held
  EXPECT_EQ(confidence(), Confidence::kMedium);
  EXPECT_NE(of_a_whole_one, Confidence::kMedium);
}

TEST(HeapVerdicts, OfAWindowAreAboutTheWindow) {
  Server server;
  const auto leak = server.function("keep_session");
  for (int i = 0; i < 120; ++i) {
    server.second();
    if (i >= 60) server.row(leak, {10, 10'240});
  }
  Selection early, late;
  early.to_ns = 60'000'000'000;
  late.from_ns = 60'000'000'000;
  EXPECT_FALSE(find(server.verdicts(early), HeapVerdictKind::kLeak));
  EXPECT_TRUE(find(server.verdicts(late), HeapVerdictKind::kLeak));
}

TEST(HeapVerdicts, OfAnyProfileHaveNumbersAndWords) {
  std::size_t verdicts = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    for (const Selection& selection : {Selection{}, Selection{.from_ns = 1'000'000, .to_ns = 900'000'000}}) {
      for (const HeapVerdict& verdict : judge_heap(profile, selection, HeapSums(profile, selection))) {
        ++verdicts;
        EXPECT_TRUE(std::isfinite(verdict.bytes)) << seed << present::sentence_of(verdict);
        for (const auto& [name, value] : verdict.numbers) EXPECT_TRUE(std::isfinite(value)) << seed << name;
        EXPECT_FALSE(present::sentence_of(verdict).empty()) << seed;
        EXPECT_FALSE(present::advice_of(verdict).empty()) << seed;
        EXPECT_EQ(present::sentence_of(verdict).find("nan"), std::string::npos)
            << seed << present::sentence_of(verdict);
      }
    }
  }
  EXPECT_GT(verdicts, 50u);
}

TEST(HeapVerdicts, NoMoreThanThreeOfAKindAreShownFirst) {
  std::vector<HeapVerdict> verdicts(6);
  for (std::size_t i = 0; i < 5; ++i) verdicts[i].kind = HeapVerdictKind::kLeak;
  verdicts[5].kind = HeapVerdictKind::kPeak;
  EXPECT_EQ(first_verdicts(verdicts, 8), (std::vector<std::size_t>{0, 1, 2, 5}));
  EXPECT_EQ(first_verdicts(verdicts, 2), (std::vector<std::size_t>{0, 1}));
}

}  // namespace
}  // namespace fathom::analysis
