// How the heap is used: churn, peaks, and errors of those who free.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/verdicts/testing_server.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

using model::HeapMode;
using testing::HasSubstr;

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
  EXPECT_THAT(all_text(*unknown), HasSubstr("CPU time was not recorded, so its cost is unknown"));

  const auto libc = server.module("libc.so.6");
  const auto copy = server.frame(server.app(), {"copy_line"});
  server.sample(server.worker(), server.stack({copy, server.frame(libc, {"malloc"})}), 300);
  server.sample(server.worker(), server.stack({copy}), 700, 3);
  const auto after = server.verdicts();
  const HeapVerdict* known = find(after, HeapVerdictKind::kChurn);
  ASSERT_TRUE(known);
  EXPECT_THAT(all_text(*known),
              HasSubstr("the allocators take 30.0 % ±2.8 of its process's CPU time, 100 % of that "
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
  EXPECT_THAT(
      present::sentence_of(*found),
      HasSubstr(
          "Peak of 9.5 MiB at 31.50 s, 10.0 times the usual 976.6 KiB; above the usual level: 100.0 % by sort_all in server"));
  EXPECT_FALSE(find(verdicts, HeapVerdictKind::kLeak));
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
  server.profile.heap.uses = {{wrong, 1'843'200, {900, 21'600}, {}, {4, 96}}, {foreign, 0, {}, {3, 300}}};
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
  EXPECT_EQ(verdicts[2].kind, HeapVerdictKind::kFreedTwice);
  EXPECT_THAT(
      present::sentence_of(verdicts[2]),
      testing::StartsWith(
          "Error: 4 blocks of Shape::clone in server (called by caller_of_Shape::clone) were freed twice."));
  const HeapVerdict* slack = find(verdicts, HeapVerdictKind::kSlack);
  ASSERT_TRUE(slack);
  EXPECT_THAT(
      present::sentence_of(*slack),
      HasSubstr(
          "Of the 1.8 MiB that the allocators reserve for blocks live at the end, 900.0 KiB (50.0 %) were not requested; 100."));
}

// What breaks the pairing of allocations and frees, one at a time.
const std::vector<std::function<void(Server&)>> kGaps = {
    [](Server& server) { server.profile.heap.heaps[0].lost_ring_full = 1; },
    [](Server& server) { server.profile.heap.heaps[0].lost_no_ring = 1; },
    [](Server& server) { server.profile.heap.heaps[0].lost_damaged = 1; },
    [](Server& server) { server.profile.heap.heaps[0].switched_off = true; },
    [](Server& server) { server.profile.heap.heaps[0].unseen_frees = 1; },
    [](Server& server) {
      const std::uint64_t start = server.profile.meta.start_ns;
      server.profile.heap.outages.push_back({{0}, start + 1'000'000, start + 2'000'000});
    },
    [](Server& server) {
      const auto glibc = server.allocator("glibc 2.36", server.module("libc.so.6"));
      server.hook(glibc, "malloc", model::HookKind::kEntry);
      server.hook(glibc, "realloc", model::HookKind::kNone, "too short for a jump");
      for (model::HeapSite& site : server.profile.heap.sites) site.allocator = glibc;
    },
};

TEST(HeapVerdicts, MakeNoAccusationAndAreNotSureAfterALoss) {
  for (std::size_t gap = 0; gap <= kGaps.size(); ++gap) {
    SCOPED_TRACE(gap);
    Server server;
    const auto wrong = server.function("Shape::clone"), leak = server.function("remember");
    for (int i = 0; i < 90; ++i) {
      server.second();
      server.row(wrong, {10, 10'240}, {10, 10'240});
      server.row(leak, {100, 102'400});
    }
    server.rss([](int second) { return 1e6 + 102'400.0 * second; }, 90);
    server.profile.heap.uses = {{wrong, 0, {1, 24}, {1, 24}, {1, 24}}};
    if (gap < kGaps.size()) kGaps[gap](server);
    const auto verdicts = server.verdicts();
    const bool accuses = find(verdicts, HeapVerdictKind::kWrongSize) != nullptr ||
                         find(verdicts, HeapVerdictKind::kForeignFree) != nullptr ||
                         find(verdicts, HeapVerdictKind::kFreedTwice) != nullptr;
    const bool is_sure = std::ranges::any_of(
        verdicts, [](const HeapVerdict& verdict) { return verdict.confidence == Confidence::kHigh; });
    EXPECT_EQ(accuses, gap == kGaps.size());
    EXPECT_EQ(is_sure, gap == kGaps.size());
    for (const HeapVerdict& verdict : verdicts)
      if (verdict.confidence != Confidence::kHigh) {
        EXPECT_THAT(verdict.doubts, testing::Not(testing::IsEmpty()));
      }
  }
}

// Whatever else is in a recording.
TEST(HeapVerdicts, OfRandomProfilesWithLossesAreNeverSure) {
  model::for_each_profile(300, [](const model::Profile& profile) {
    if (profile.heap.empty()) return;
    const Selection selection;
    for (const HeapVerdict& verdict : judge_heap(profile, selection, HeapSums(profile, selection))) {
      const HeapPairing pairing = pairing_of(profile, verdict.pid, selection);
      if (pairing.is_whole()) continue;
      EXPECT_NE(verdict.confidence, Confidence::kHigh) << to_string(verdict.kind);
      if (pairing.proves_errors()) continue;
      EXPECT_NE(verdict.kind, HeapVerdictKind::kWrongSize);
      EXPECT_NE(verdict.kind, HeapVerdictKind::kForeignFree);
      EXPECT_NE(verdict.kind, HeapVerdictKind::kFreedTwice);
    }
  });
}

}  // namespace
}  // namespace fathom::analysis
