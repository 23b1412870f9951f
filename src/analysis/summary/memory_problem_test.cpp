#include "analysis/summary/memory_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "analysis/core/hand_made_profile.h"
#include "analysis/summary/problem_class.h"
#include "analysis/summary/resident.h"
#include "model/free_before.h"
#include "present/sentences/memory_summary_sentences.h"
#include "present/sentences/problem_sentences.h"

namespace fathom::analysis {
namespace {

// A report of a thread that sleeps for 10 s, whose resident memory goes as `bytes_at` says.
Report report_of(const std::function<double(double)>& bytes_at) {
  Report report;
  std::vector<TrendPoint> points;
  for (double at_s = 0; at_s <= 10; at_s += 0.25) points.push_back({at_s, bytes_at(at_s)});
  report.resident =
      ResidentMemory{points.front().value, points.back().value, points.back().value, find_trend(points)};
  return report;
}

constexpr double kMiB = 1 << 20;

TEST(MemoryProblem, IsAGrowthOfWhatIsResident) {
  const MemoryProblem problem =
      find_memory_problem(report_of([](double at_s) { return (100 + 30 * at_s) * kMiB; }));
  EXPECT_EQ(problem.kind, MemoryProblemKind::kGrows);
  EXPECT_NEAR(problem.per_s, 30 * kMiB, 0.1 * kMiB);
}

TEST(MemoryProblem, IsNoneOfALevelOneOrOfOneThatHardlyGrows) {
  EXPECT_EQ(find_memory_problem(report_of([](double) { return 100 * kMiB; })).kind, MemoryProblemKind::kNone);
  EXPECT_EQ(find_memory_problem(report_of([](double at_s) { return (100 + 0.1 * at_s) * kMiB; })).kind,
            MemoryProblemKind::kNone);
  EXPECT_EQ(find_memory_problem(report_of([](double at_s) { return at_s < 5 ? kMiB : 100 * kMiB; })).kind,
            MemoryProblemKind::kNone)
      << "a step is no growth";
  EXPECT_EQ(find_memory_problem(report_of([](double at_s) {
              return at_s < 0.5 ? kMiB : (39 + 0.01 * at_s) * kMiB;
            })).kind,
            MemoryProblemKind::kNone)
      << "it had just started";
  EXPECT_EQ(find_memory_problem(Report()).kind, MemoryProblemKind::kNone) << "nothing is known";
}

// A program that reads a mapped file fills the cache of the kernel: its resident memory rises, and nothing is short.
TEST(MemoryProblem, IsNoneOfPagesOfFiles) {
  for (const auto& [series, expected] : {std::pair{"memory.rss_file", MemoryProblemKind::kNone},
                                         {"memory.rss_anon", MemoryProblemKind::kGrows},
                                         {"memory.rss_shmem", MemoryProblemKind::kGrows}}) {
    HandMade hand;
    (void)hand.thread(hand.process(1, "app"), 1, "app");
    for (const std::string_view name : {"memory.rss_anon", "memory.rss_file", "memory.rss_shmem"}) {
      model::Series& row = hand.profile.series.emplace_back();
      row.name = hand.profile.strings.intern(name);
      row.pid = 1;
      for (std::uint64_t i = 0; i <= 40; ++i)
        row.points.push_back({hand.profile.meta.start_ns + i * 250'000'000,
                              name == series ? (10 + 3.0 * static_cast<double>(i)) * kMiB : 10 * kMiB});
    }
    Report report;
    report.profile = &hand.profile;
    report.resident = find_resident(hand.profile, {});
    ASSERT_TRUE(report.resident);
    EXPECT_EQ(report.resident->trend.shape, TrendShape::kGrowing);
    EXPECT_EQ(find_memory_problem(report).kind, expected) << series;
    EXPECT_EQ(present::sentence_of_resident(report).find("which the kernel can drop") != std::string::npos,
              expected == MemoryProblemKind::kNone);
  }
}

// The rise is one of anonymous memory, although a swing between it and the files hides that in its own curve.
TEST(MemoryProblem, OfAnonymousMemoryIsNotHiddenByASwingOfFiles) {
  HandMade hand;
  (void)hand.thread(hand.process(1, "app"), 1, "app");
  for (const bool is_file : {false, true}) {
    model::Series& row = hand.profile.series.emplace_back();
    row.name = hand.profile.strings.intern(is_file ? "memory.rss_file" : "memory.rss_anon");
    row.pid = 1;
    for (std::uint64_t i = 0; i <= 40; ++i) {
      const auto at = static_cast<double>(i);
      const double swing = 60 * std::sin(at * 0.314);
      row.points.push_back({hand.profile.meta.start_ns + i * 250'000'000,
                            (is_file ? 100 - swing : 200 + 3 * at + swing) * kMiB});
    }
  }
  Report report;
  report.profile = &hand.profile;
  report.resident = find_resident(hand.profile, {});
  ASSERT_EQ(report.resident->trend.shape, TrendShape::kGrowing);
  EXPECT_EQ(find_memory_problem(report).kind, MemoryProblemKind::kGrows);
  EXPECT_THAT(present::sentence_of_resident(report), testing::Not(testing::HasSubstr("the kernel can drop")));
}

// As of a compiler that ends just before the program that started it.
TEST(MemoryProblem, IsNoneOfMemoryThatGrewAndIsGone) {
  HandMade hand;
  const std::uint64_t start = hand.profile.meta.start_ns;
  const auto compiler = hand.process(1, "cc1plus"), driver = hand.process(2, "g++");
  hand.profile.processes[compiler.value].end_ns = start + 10'000'000'000;
  (void)driver;
  for (const std::int32_t pid : {1, 2}) {
    model::Series& row = hand.profile.series.emplace_back();
    row.name = hand.profile.strings.intern("memory.rss_anon");
    row.pid = pid;
    for (std::uint64_t i = 0; i <= 40; ++i)
      row.points.push_back(
          {start + i * 250'000'000, pid == 2 ? 10 * kMiB : (10 + 9 * static_cast<double>(i)) * kMiB});
    if (pid == 2) row.points.push_back({start + 10'010'000'000, 10 * kMiB});
  }
  Report report;
  report.profile = &hand.profile;
  report.resident = find_resident(hand.profile, {});
  ASSERT_TRUE(report.resident);
  EXPECT_EQ(find_memory_problem(report).kind, MemoryProblemKind::kNone);
  EXPECT_EQ(present::sentence_of_resident(report), "RSS 380.0 MiB at most, 10.0 MiB at the end.");
}

// As of a shell that runs one command after the other.
TEST(MemoryProblem, IsNoneOfProcessesThatHaveEnded) {
  HandMade hand;
  const std::uint64_t start = hand.profile.meta.start_ns;
  for (std::int32_t child = 0; child < 8; ++child) {
    const std::uint64_t begins = start + static_cast<std::uint64_t>(child) * 500'000'000;
    const auto process = hand.process(10 + child, "job");
    hand.profile.processes[process.value].end_ns = begins + 450'000'000;
    model::Series& row = hand.profile.series.emplace_back();
    row.name = hand.profile.strings.intern("memory.rss_anon");
    row.pid = 10 + child;
    for (std::uint64_t i = 0; i < 4; ++i) row.points.push_back({begins + i * 100'000'000, 2 * kMiB});
  }
  Report report;
  report.profile = &hand.profile;
  report.resident = find_resident(hand.profile, {});
  ASSERT_TRUE(report.resident);
  EXPECT_EQ(report.resident->most, 2 * kMiB);
  EXPECT_EQ(find_memory_problem(report).kind, MemoryProblemKind::kNone);
}

TEST(MemoryProblem, OfAFunctionWhoseBlocksGrowIsALeak) {
  for (const auto& [confidence, expected] : {std::pair{Confidence::kHigh, MemoryProblemKind::kLeak},
                                             {Confidence::kLow, MemoryProblemKind::kGrows}}) {
    Report report = report_of([](double at_s) { return (100 + 30 * at_s) * kMiB; });
    HeapVerdict leak;
    leak.kind = HeapVerdictKind::kLeak;
    leak.confidence = confidence;
    report.heap.emplace();
    report.heap->verdicts = {leak};
    EXPECT_EQ(find_memory_problem(report).kind, expected);
  }
}

// A leak of small blocks fills the gaps that others leave, and those touch the new pages.
TEST(MemoryProblem, TheFunctionWhoseBlocksGrowIsABetterAnswerThanWhoTouchesPagesFirst) {
  Report report = report_of([](double at_s) { return (100 + 30 * at_s) * kMiB; });
  report.resident->first_touch = FirstTouch{"noise", 0.9};
  HeapVerdict grows;
  grows.kind = HeapVerdictKind::kMayLevel;
  grows.confidence = Confidence::kMedium;
  grows.function = "leak_slow";
  grows.bytes = 0.8 * report.resident->trend.growth();
  report.heap.emplace();
  report.heap->verdicts = {grows};
  EXPECT_FALSE(find_memory_problem(report).first_touch);
  report.heap->verdicts[0].bytes *= 0.2;
  EXPECT_TRUE(find_memory_problem(report).first_touch) << "most of the growth is not of its blocks";
  report.heap->verdicts[0].bytes *= 5;
  report.heap->verdicts[0].confidence = Confidence::kLow;
  EXPECT_TRUE(find_memory_problem(report).first_touch);
}

TEST(MemoryProblem, IsWhatAnAllocatorKeeps) {
  for (const auto& [held, expected] :
       {std::pair{40.0, MemoryProblemKind::kHeld}, {10.0, MemoryProblemKind::kNone}}) {
    Report report = report_of([](double) { return 100 * kMiB; });
    HeapVerdict verdict;
    verdict.kind = HeapVerdictKind::kHeld;
    verdict.bytes = held * kMiB;
    report.heap.emplace();
    report.heap->verdicts = {verdict};
    EXPECT_EQ(find_memory_problem(report).kind, expected) << held;
  }
}

// An allocator's records show that without tracing the heap.
TEST(MemoryProblem, IsWhatTheRecordsOfAnAllocatorSayThatItKeeps) {
  HandMade hand;
  const auto process = hand.process(7, "app");
  model::Profile& profile = hand.profile;
  profile.meta.start_ns = 1'000'000'000;
  profile.series.push_back({hand.builder.string("memory.rss_anon"), hand.builder.string("bytes"), 7, {}});
  for (const std::uint64_t second : {1, 2, 3})
    profile.series.back().points.push_back({second * 1'000'000'000, 60 * kMiB});
  const auto row = [&](std::uint64_t second, const char* name, double bytes) {
    model::MemoryRange range;
    range.time_ns = second * 1'000'000'000;
    range.process = process;
    range.kind = model::MemoryKind::kAllocator;
    range.name = hand.builder.string(name);
    range.rss_bytes = static_cast<std::uint64_t>(bytes);
    profile.memory_ranges.push_back(range);
  };
  row(1, "glibc: free among live blocks", 5 * kMiB);
  row(3, "glibc: free among live blocks", 40 * kMiB);
  row(3, "glibc: free chunks", 8 * kMiB);
  row(3, "glibc: live blocks", 7 * kMiB);
  Report report;
  report.resident = find_resident(profile, {});
  ASSERT_TRUE(report.resident);
  EXPECT_EQ(report.resident->free_bytes, 48 * kMiB) << "of the last moment";
  EXPECT_EQ(find_memory_problem(report).kind, MemoryProblemKind::kHeld);
  EXPECT_NEAR(find_memory_problem(report).share, 0.8, 0.01);
  EXPECT_THAT(present::sentence_of_resident(report),
              testing::HasSubstr("; 48.0 MiB of it is free memory that glibc keeps"));
}

// With a traced heap, allocators are asked once: at the start, about the time before.
TEST(MemoryProblem, FreeMemoryFromBeforeATracedHeapIsReported) {
  HandMade hand;
  hand.process(7, "server");
  model::Profile& profile = hand.profile;
  profile.meta.start_ns = 1'000'000'000;
  profile.series.push_back({hand.builder.string("memory.rss_anon"), hand.builder.string("bytes"), 7, {}});
  for (const std::uint64_t second : {1, 2, 3})
    profile.series.back().points.push_back({second * 1'000'000'000, 60 * kMiB});
  model::put_free_before(7, {40 << 20, "glibc"}, profile.meta.facts);
  Report report;
  report.resident = find_resident(profile, {});
  ASSERT_TRUE(report.resident);
  EXPECT_THAT(present::sentence_of_resident(report),
              testing::HasSubstr("level; at the start, 40.0 MiB of it was free memory that glibc kept."));
  EXPECT_EQ(report.resident->free_bytes, 0) << "it may be in use by now";
  EXPECT_EQ(find_memory_problem(report).kind, MemoryProblemKind::kNone)
      << "it is not known what was allocated";
  report.heap.emplace();
  EXPECT_EQ(find_memory_problem(report).kind, MemoryProblemKind::kHeld);
  EXPECT_NEAR(find_memory_problem(report).share, 40.0 / 60, 0.01) << "nothing was allocated since";
  report.heap->total.live.bytes.value = 30 * kMiB;
  EXPECT_EQ(find_memory_problem(report).kind, MemoryProblemKind::kNone)
      << "10 of 60 MiB are free for certain";
  EXPECT_EQ(find_resident(profile, {.pid = 8}).has_value(), false);
  profile.meta.facts["free_before.7"] = "much";
  report.resident = find_resident(profile, {});
  EXPECT_THAT(present::sentence_of_resident(report), testing::Not(testing::HasSubstr("free")));
}

TEST(MemoryProblem, IsChurnWhereAllocatorsTakeTheCpu) {
  const auto made = std::make_unique<Report>();  // g++ 12 takes parts of one on the stack for uninitialized
  Report& report = *made;
  report.allocator_cpu.emplace();
  report.allocator_cpu->total = 1000;
  report.allocator_cpu->inside = 320;
  EXPECT_EQ(find_memory_problem(report).kind, MemoryProblemKind::kChurn);
  report.allocator_cpu->total = 10;
  report.allocator_cpu->inside = 3;
  EXPECT_EQ(find_memory_problem(report).kind, MemoryProblemKind::kNone) << "too few samples";
  report.allocator_cpu->total = 1000;
  report.allocator_cpu->inside = 320;
  report.activity.duration_s = 100;
  report.activity.cpu_s = 1;
  EXPECT_EQ(find_memory_problem(report).kind, MemoryProblemKind::kNone) << "it hardly ran";
}

TEST(MemoryProblem, IsReportedNextToTheClass) {
  ProblemClass problem;
  problem.kind = ProblemKind::kSleep;
  problem.waits_known = true;
  problem.slept = 0.99;
  problem.memory_problem = {MemoryProblemKind::kLeak, 30 * kMiB, 0};
  EXPECT_THAT(present::sentence_of(problem),
              ::testing::EndsWith("(threshold: 30 %); memory: leak candidate, RSS grows by 30.0 MiB/s"));
  problem.memory_problem = {MemoryProblemKind::kHeld, 0, 0.4};
  EXPECT_THAT(present::sentence_of(problem),
              ::testing::EndsWith("; memory: 40 % of RSS is free memory that the allocator keeps"));
}

}  // namespace
}  // namespace fathom::analysis
