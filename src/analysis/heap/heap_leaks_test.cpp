#include "analysis/heap/heap_leaks.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/heap/hand_made_heap.h"
#include "model/random_profile.h"
#include "present/sentences/leak_sentences.h"

namespace fathom::analysis {
namespace {

using model::HeapHistogramKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// The server of small_heap() at its end: a cache of 1000 blocks, 20 requests, 40 leaked strings.
model::Profile server(model::HeapMode mode = model::HeapMode::kExact, bool ended = true) {
  HandMadeHeap hand = small_heap(mode);
  hand.profile.meta.target = "server";
  if (ended) hand.profile.processes[0].end_ns = hand.profile.meta.end_ns;
  hand.profile.heap.heaps[0].from_start = true;
  auto& histograms = hand.profile.heap.histograms;
  histograms.erase(std::remove_if(histograms.begin(), histograms.end(),
                                  [](const auto& row) { return row.kind == HeapHistogramKind::kAge; }),
                   histograms.end());
  histograms.push_back({{0}, HeapHistogramKind::kAge, 20, {0, 0}});
  histograms.push_back({{1}, HeapHistogramKind::kAge, 30, {100, 100'000}});
  histograms.push_back({{1}, HeapHistogramKind::kAge, 32, {900, 900'000}});
  histograms.push_back({{3}, HeapHistogramKind::kAge, 28, {20, 1280}});
  histograms.push_back({{3}, HeapHistogramKind::kAge, 31, {20, 1280}});
  return hand.profile;
}

LeakReport leaks_of(const model::Profile& profile, LeakOptions options = {}) {
  return find_leaks(profile, options).value();
}
std::string summary_of(const LeakReport& report) {
  return fmt::format("{}", fmt::join(present::sentences_of(report), "\n"));
}
std::vector<std::string> names_of(const LeakReport& report) {
  std::vector<std::string> names;
  for (const LeakGroup& group : report.groups) names.push_back(group.frames.at(0).function);
  return names;
}

TEST(HeapLeaks, AnUntracedAllocatorIsNotCalledClean) {
  HandMadeHeap hand;
  const auto module = hand.module("server", model::ModuleKind::kFile, model::SymbolSource::kNone);
  hand.process(10, "server");
  hand.profile.processes[0].end_ns = hand.profile.meta.end_ns;
  hand.hook(hand.allocator("jemalloc 5.3.0", module), "every function", model::HookKind::kNone,
            "it is stripped");
  const LeakReport report = leaks_of(hand.profile);
  EXPECT_EQ(report.answer, LeakAnswer::kNotKnown);
  EXPECT_THAT(summary_of(report), HasSubstr(": it is unknown whether anything is left."));
  EXPECT_THAT(summary_of(report), HasSubstr("jemalloc 5.3.0 in server"));
  // What is left of an allocator that is seen is left for sure.
  model::Profile with_leak = server();
  const auto label = with_leak.strings.intern("mimalloc"), why = with_leak.strings.intern("it is stripped");
  with_leak.heap.allocators.push_back({label, {1}});
  with_leak.heap.hooks.push_back({{static_cast<std::uint32_t>(with_leak.heap.allocators.size() - 1)},
                                  with_leak.strings.intern("every function"),
                                  why,
                                  model::HookKind::kNone});
  EXPECT_EQ(leaks_of(with_leak).answer, LeakAnswer::kLeft);
  EXPECT_THAT(summary_of(leaks_of(with_leak)), HasSubstr("mimalloc in server"));
}

TEST(HeapLeaks, AreGroupedByStackMostBytesFirst) {
  const LeakReport report = leaks_of(server());
  EXPECT_THAT(names_of(report), ElementsAre("server::Cache::put(int)", "strdup"));
  EXPECT_EQ(report.groups[0].amounts.blocks.value, 1000);
  EXPECT_EQ(report.groups[1].amounts.bytes.value, 2560);
  ASSERT_EQ(report.groups[1].frames.size(), 3u);
  EXPECT_EQ(report.groups[1].frames[2].function, "main");
  EXPECT_EQ(report.groups[1].frames[0].module, "libc.so.6");
  EXPECT_THAT(report.groups[1].threads, ElementsAre("worker"));
  EXPECT_EQ(report.shown.bytes.value, 1'002'560);
  EXPECT_EQ(report.total.bytes.value, report.shown.bytes.value);
}

TEST(HeapLeaks, SayHowOldTheyAreAsFarAsIsKnown) {
  const LeakReport report = leaks_of(server());
  EXPECT_DOUBLE_EQ(report.groups[0].youngest_s.value(), std::ldexp(1, 29) * 1e-9);
  EXPECT_DOUBLE_EQ(report.groups[0].oldest_s.value(), 3) << "no block is older than the recording";
  EXPECT_DOUBLE_EQ(report.groups[1].oldest_s.value(), std::ldexp(1, 31) * 1e-9);
}

// 12,000 blocks of 1 KiB were sampled; of the cache all were freed, and rounding left 1e-12 of one.
TEST(HeapLeaks, WhatRoundingLeavesOfASampledPlaceIsNothing) {
  HandMadeHeap hand(model::HeapMode::kSampled);
  const auto app = hand.module("server", model::ModuleKind::kFile, model::SymbolSource::kDwarf);
  const auto worker = hand.thread(hand.process(10, "server"), 11, "worker");
  const auto glibc = hand.allocator("glibc 2.36", app);
  const auto leak = hand.site(hand.stack({hand.frame(app, {"open_session"})}), worker, glibc);
  const auto cache = hand.site(hand.stack({hand.frame(app, {"Cache::put"})}), worker, glibc);
  hand.slice();
  hand.row(leak, {12'000, 12'288'000});
  hand.row(cache, {0.1 + 0.2, 0.3 * 4096}, {0.3, 0.3 * 4096});
  hand.profile.heap.histograms = {{leak, HeapHistogramKind::kAge, 30, {12'000, 12'288'000}}};
  hand.profile.meta.end_ns = hand.profile.meta.start_ns + 3'000'000'000;
  const LeakReport report = leaks_of(hand.profile);
  EXPECT_THAT(names_of(report), ElementsAre("open_session"));
  EXPECT_FALSE(report.no_ages) << "of what is nothing no age is missed";
}

TEST(HeapLeaks, OldOnesAreThoseFromThePowerOfTwoBelow) {
  // 1 s lies between 2^29 ns, 0.54 s, and 2^30 ns.
  const LeakReport report = leaks_of(server(), {.older_s = 1});
  EXPECT_THAT(names_of(report), ElementsAre("server::Cache::put(int)", "strdup"));
  EXPECT_EQ(report.groups[0].amounts.blocks.value, 1000);
  EXPECT_EQ(report.groups[1].amounts.blocks.value, 20);
  EXPECT_EQ(report.young.bytes.value, 1280);
  EXPECT_THAT(summary_of(report), HasSubstr("1.2 KiB in 20 blocks younger than 537 ms are left out"));
  EXPECT_EQ(leaks_of(server(), {.older_s = 5}).groups.size(), 0u);
}

TEST(HeapLeaks, OfAgesThatWereNotWrittenCannotBeFiltered) {
  model::Profile profile = server();
  profile.heap.histograms.clear();
  EXPECT_THAT(summary_of(leaks_of(profile)), HasSubstr("no ages"));
  EXPECT_EQ(find_leaks(profile, {.older_s = 1}).error().kind, ErrorKind::kUnsupported);
}

TEST(HeapLeaks, SuppressionsSayWhatTheyTook) {
  LeakOptions options;
  options.suppressions = parse_suppressions("leak:^nowhere$\nleak:strdup\nleak:Cache\n", "my").value();
  const LeakReport report = leaks_of(server(), options);
  EXPECT_TRUE(report.empty());
  EXPECT_EQ(report.suppressed.bytes.value, report.total.bytes.value);
  ASSERT_EQ(report.uses.size(), 2u);
  EXPECT_EQ(report.uses[0].suppression->pattern, "Cache");
  EXPECT_EQ(report.uses[1].taken.blocks.value, 40);
  EXPECT_THAT(summary_of(report), HasSubstr("nothing is left that was never freed"));
}

TEST(HeapLeaks, SmallGroupsAreLeftOutAndCounted) {
  EXPECT_THAT(names_of(leaks_of(server(), {.min_bytes = 3000})), ElementsAre("server::Cache::put(int)"));
  const LeakReport report = leaks_of(server(), {.min_blocks = 41});
  EXPECT_THAT(names_of(report), ElementsAre("server::Cache::put(int)"));
  EXPECT_EQ(report.small.blocks.value, 40);
}

TEST(HeapLeaks, OfAProgramThatRanOnAreLiveAndNotLeaked) {
  const std::string ended = summary_of(leaks_of(server()));
  EXPECT_THAT(ended, HasSubstr("979.1 KiB in 1,040 blocks never freed from 2 call sites."));
  EXPECT_THAT(
      ended,
      Not(HasSubstr(
          "The program was still running when the recording ended, so this was live at that moment: leaks, but also caches and buffers in use. Look at old blocks (--older SECONDS) and at groups that grow (fathom report).")));
  const std::string running = summary_of(leaks_of(server(model::HeapMode::kExact, false)));
  EXPECT_THAT(running, HasSubstr("live at the end of the recording from"));
  EXPECT_THAT(
      running,
      HasSubstr(
          "The program was still running when the recording ended, so this was live at that moment: leaks, but also caches and buffers in use. Look at old blocks (--older SECONDS) and at groups that grow (fathom report)."));
  EXPECT_THAT(running, Not(HasSubstr("never freed")));
}

TEST(HeapLeaks, SaysWhatAnAttachedASampledAndAKilledOneLacks) {
  model::Profile attached = server();
  attached.heap.heaps[0].from_start = false;
  EXPECT_THAT(
      summary_of(leaks_of(attached)),
      HasSubstr("fathom attached to a running program, so blocks from before the recording are missing."));
  const std::string sampled = summary_of(leaks_of(server(model::HeapMode::kSampled)));
  EXPECT_THAT(sampled, HasSubstr("one byte in 512.0 KiB"));
  EXPECT_THAT(sampled, HasSubstr("small leaks can be missed"));
  model::Profile killed = server();
  killed.meta.facts["exit"] = "143";
  EXPECT_THAT(summary_of(leaks_of(killed)), HasSubstr("SIGTERM ended it"));
  killed.meta.facts["signal"] = "9";
  EXPECT_THAT(summary_of(leaks_of(killed)), HasSubstr("live when SIGKILL ended it"));
  model::Profile unknown = server();
  unknown.meta.facts["ended_pid"] = "10";
  EXPECT_THAT(summary_of(leaks_of(unknown)), HasSubstr("live when it ended (how is unknown)"));
  EXPECT_THAT(summary_of(leaks_of(killed)), Not(HasSubstr("never freed")));
}

TEST(HeapLeaks, AreOfEachProcessAsItEnded) {
  model::Profile profile = server();
  // A second one with a heap of its own, which has the cache.
  model::Process second = profile.processes[0];
  second.pid = 20;
  profile.processes.push_back(second);
  model::Heap heap = profile.heap.heaps[0];
  heap.process = {1};
  profile.heap.heaps.push_back(heap);
  profile.heap.sites[1].heap = {1};
  profile.meta.facts = {{"end.10", "signal 9"}, {"end.20", "exit 0"}};
  const std::string both = summary_of(leaks_of(profile));
  EXPECT_THAT(both, HasSubstr("live when its process ended"));
  EXPECT_THAT(both, HasSubstr("SIGKILL ended process 10, so it had no chance to free what it had."));
  EXPECT_THAT(both, Not(HasSubstr("process 20")));
  EXPECT_THAT(both, Not(HasSubstr("SIGKILL ended it")));
  LeakOptions options;
  options.selection.pid = 10;
  EXPECT_THAT(summary_of(leaks_of(profile, options)), HasSubstr("live when SIGKILL ended it"));
  options.selection.pid = 20;
  EXPECT_THAT(summary_of(leaks_of(profile, options)), HasSubstr("never freed"));
  EXPECT_THAT(summary_of(leaks_of(profile, options)), Not(HasSubstr("SIGKILL")));
  profile.meta.facts["end.10"] = "unknown";
  EXPECT_THAT(summary_of(leaks_of(profile)), HasSubstr("Process 10 ended; how is unknown."));
}

TEST(HeapLeaks, AreSureOnlyBeyondWhatLostEventsMayHaveFreed) {
  EXPECT_EQ(leaks_of(server()).answer, LeakAnswer::kLeft);
  EXPECT_EQ(leaks_of(server()).sure_blocks, 1040);
  model::Profile profile = server();
  profile.heap.heaps[0].lost_ring_full = 1000;
  profile.heap.heaps[0].lost_no_ring = 30;
  profile.heap.heaps[0].lost_throwing = 500;  // an allocation for sure
  const LeakReport some = leaks_of(profile);
  EXPECT_EQ(some.answer, LeakAnswer::kLeft);
  EXPECT_EQ(some.sure_blocks, 10);
  EXPECT_THAT(
      summary_of(some),
      HasSubstr(
          "at least 10 blocks of them for certain, because 1,530 of 122,810 events were lost (1,000 found no room, 30 had no ring, 500 of a failing operator new)."));
  EXPECT_THAT(summary_of(some), HasSubstr("events were lost (1,000 found no room, 30 had no ring"));

  profile.heap.heaps[0].lost_no_ring = 40;
  const LeakReport none = leaks_of(profile);
  EXPECT_EQ(none.answer, LeakAnswer::kNotKnown);
  EXPECT_THAT(summary_of(none), HasSubstr(": it is unknown whether anything is left."));
  EXPECT_THAT(summary_of(none), HasSubstr("--lossless"));
}

TEST(HeapLeaks, OfWhichNothingIsLeftMayYetBeThereWhereEventsWereLost) {
  model::Profile profile = server();
  profile.heap.heaps[0].lost_ring_full = 1;
  LeakOptions all;
  all.suppressions = parse_suppressions("leak:*", "my").value();
  const LeakReport report = leaks_of(profile, all);
  EXPECT_EQ(report.answer, LeakAnswer::kNothing);
  EXPECT_THAT(summary_of(report),
              HasSubstr(": nothing that was recorded is left, but the recording is incomplete:"));
  EXPECT_THAT(
      summary_of(report),
      HasSubstr(
          "server: nothing that was recorded is left, but the recording is incomplete: 1 of 121,281 events was lost (1 found no room). Up to 1 block may be left unseen."));
  EXPECT_THAT(summary_of(report), Not(HasSubstr("nothing is left")));
}

TEST(HeapLeaks, FromBeforeTimeThatWasNotRecordedMayBeGone) {
  model::Profile profile = server();
  const std::uint64_t end = profile.heap.heaps[0].end_ns;
  // 20 strings are younger than 2^28 ns, so they came after it; all else may have been freed in it.
  profile.heap.outages.push_back({{0}, end - 2'000'000'000, end - (1ull << 28)});
  const LeakReport report = leaks_of(profile);
  EXPECT_EQ(report.sure_blocks, 20);
  EXPECT_EQ(report.answer, LeakAnswer::kLeft);
  EXPECT_THAT(summary_of(report), HasSubstr("nothing was recorded from 1.00 s to 2.73 s"));
  profile.heap.outages[0].end_ns = end - (1ull << 28) + 1;
  EXPECT_EQ(leaks_of(profile).answer, LeakAnswer::kNotKnown);
}

// What was lost has no number then, so that none of the blocks that look left is one for sure.
TEST(HeapLeaks, AreNotSureIfTheLossIsUnknown) {
  model::Profile damaged = server(), ended_unheard = server();
  damaged.heap.heaps[0].lost_damaged = 1;
  ended_unheard.heap.heaps[0].switched_off = true;
  for (const model::Profile& profile : {damaged, ended_unheard}) {
    const LeakReport report = leaks_of(profile);
    EXPECT_EQ(report.sure_blocks, 0);
    EXPECT_EQ(report.answer, LeakAnswer::kNotKnown);
    EXPECT_THAT(summary_of(report), HasSubstr(": it is unknown whether anything is left."));
  }
}

TEST(HeapLeaks, OfASampledHeapOneSampleIsOneBlockForSure) {
  model::Profile profile = server(model::HeapMode::kSampled);
  profile.heap.heaps[0].lost_ring_full = 1;  // two sites are left
  EXPECT_EQ(leaks_of(profile).answer, LeakAnswer::kLeft);
  profile.heap.heaps[0].lost_ring_full = 2;
  EXPECT_EQ(leaks_of(profile).answer, LeakAnswer::kNotKnown);
}

TEST(HeapLeaks, SayWhatWentWithAProgramThatExecutedAnotherOne) {
  model::Profile profile = server();
  profile.heap.heaps.push_back(profile.heap.heaps[0]);
  profile.heap.heaps[1].image_ended = true;
  profile.heap.heaps[1].dropped_blocks = 45;
  profile.heap.heaps[1].dropped_bytes = 3072;
  EXPECT_THAT(
      summary_of(leaks_of(profile)),
      HasSubstr("45 blocks (3.0 KiB) disappeared with 1 program that executed another program (exec)."));
}

TEST(HeapLeaks, WhatTheProgramMappedIsShownOnRequestOnly) {
  model::Profile profile = server();
  model::Heap mapped = profile.heap.heaps[0];
  profile.heap.heaps.push_back(mapped);
  profile.heap.allocators.push_back({profile.strings.intern(model::kMappedByProgram), {}});
  profile.heap.sites.push_back({{1}, profile.heap.sites[1].stack, {3}, model::kNoThread, WALK_ROOT});
  model::HeapSlice slice = profile.heap.slices[0];
  slice.heap = {1};
  profile.heap.slices.push_back(slice);
  model::HeapRow row = profile.heap.rows[0];
  row.site = {4};
  row.slice = {3};
  row.allocated = {1, 8 << 20};
  row.freed = {};
  profile.heap.rows.push_back(row);
  ASSERT_TRUE(check(profile)) << check(profile).error().message;
  const LeakReport report = leaks_of(profile);
  EXPECT_EQ(report.mappings.bytes.value, 8 << 20);
  EXPECT_EQ(report.shown.bytes.value, 1'002'560);
  EXPECT_EQ(leaks_of(profile, {.mappings = true}).shown.bytes.value, 1'002'560 + (8 << 20));
}

TEST(HeapLeaks, OfAProfileWithoutHeapIsNotFound) {
  EXPECT_EQ(find_leaks(small_server(), {}).error().kind, ErrorKind::kNotFound);
}

TEST(HeapLeaks, OfAnyProfileEveryByteIsShownOrSaidToBeLeftOut) {
  int with_leaks = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    if (profile.heap.empty()) continue;
    LeakOptions options;
    options.suppressions = parse_suppressions("leak:a\nleak:b*c", "x").value();
    options.min_blocks = static_cast<double>(seed % 3);
    options.mappings = seed % 2 == 0;
    const LeakReport report = leaks_of(profile, options);
    const double parts = report.shown.bytes.value + report.suppressed.bytes.value + report.small.bytes.value +
                         report.young.bytes.value;
    EXPECT_NEAR(parts, report.total.bytes.value, 1e-9 * report.total.bytes.value) << "seed " << seed;
    double shown = 0;
    for (const LeakGroup& group : report.groups) shown += group.amounts.bytes.value;
    EXPECT_NEAR(shown, report.shown.bytes.value, 1e-9 * shown) << "seed " << seed;
    if (!report.groups.empty()) ++with_leaks;
  }
  EXPECT_GT(with_leaks, 5);
}

// A block that was handed out twice was freed by an unseen path; others may have been too.
TEST(HeapLeaks, AreNotKnownWhereFreesWentUnseen) {
  for (const std::uint64_t unseen : {0, 1}) {
    HandMadeHeap hand = small_heap();
    hand.profile.heap.heaps[0].unseen_frees = unseen;
    const auto report = find_leaks(hand.profile, {});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->answer, unseen == 0 ? LeakAnswer::kLeft : LeakAnswer::kNotKnown);
    EXPECT_EQ(report->sure_blocks > 0, unseen == 0);
    EXPECT_EQ(present::sentences_of(*report)[0].find("but some frees were missed") != std::string::npos,
              unseen != 0)
        << present::sentences_of(*report)[0];
  }
}

}  // namespace
}  // namespace fathom::analysis
