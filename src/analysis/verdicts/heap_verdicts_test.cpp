// What makes verdicts less certain, or leaves them out: short, sampled, attached, damaged recordings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/verdicts/testing_server.h"
#include "model/heap_ends.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

using model::HeapMode;
using testing::HasSubstr;

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
  EXPECT_THAT(
      all_text(*found),
      HasSubstr("blocks from before the recording are invisible: new ones may only have replaced them"));
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

// Rows of a server are no short recording: a longer time has no more points.
TEST(HeapVerdicts, OfAHeapThatIsKnownAtItsEndsSaysWhatGrew) {
  Server server(HeapMode::kSampled);
  server.second();
  server.row(server.function("load"), {10, 3e6}, {2, 1e6});
  server.profile.meta.facts[model::kHeapEndsFact] = "yes";
  auto verdicts = server.verdicts();
  ASSERT_FALSE(verdicts.empty());
  EXPECT_EQ(present::sentence_of(verdicts[0]),
            "The heap grew by 1.9 MiB in 1.00 s, to 1.9 MiB. Its course is unknown: these rows have what was "
            "live at the start and at the end only.");
  EXPECT_THAT(present::advice_of(verdicts[0]), HasSubstr("--metric heap-growth"));
  server.profile.heap.rows.back().allocated_variance = {1, 1e12};
  verdicts = server.verdicts();
  EXPECT_THAT(present::sentence_of(verdicts[0]), HasSubstr("grew by 1.9 MiB \u00b11.9 MiB in"));
  // As much came and went: that is no error of the growth.
  server.profile.heap.rows.front().allocated_variance =
      server.profile.heap.rows.front().freed_variance = {1, 9e12};
  verdicts = server.verdicts();
  EXPECT_THAT(present::sentence_of(verdicts[0]), HasSubstr("grew by 1.9 MiB \u00b11.9 MiB in"));
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

TEST(HeapVerdicts, AnEmptyHeapHasNone) {
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

TEST(HeapVerdicts, OneLostEventTakesTheHighConfidenceAway) {
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
  EXPECT_EQ(of_a_whole_one, Confidence::kHigh);
  heap.lost_ring_full = 1;
  EXPECT_EQ(confidence(), Confidence::kMedium);
  heap.lost_damaged = 1;  // the number of events it held is unknown
  EXPECT_EQ(confidence(), Confidence::kMedium);
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

// With --size, --thread or --focus the table is of a part, and the verdicts spoke of "the heap".
TEST(HeapVerdicts, OfAPartThatWasChosenDoNotSpeakOfTheHeap) {
  Server server;
  const auto leak = server.function("keep_session");
  for (int i = 0; i < 90; ++i) {
    server.second();
    server.row(leak, {100, 1'024'000});
  }
  server.rss([](int) { return 50e6; }, 90);
  for (const bool by_size : {false, true}) {
    Selection selection;
    if (by_size)
      server.profile.meta.facts["heap blocks"] = "of 4096 bytes and more";
    else
      selection.thread = "worker";
    const auto verdicts = server.verdicts(selection);
    const HeapVerdict* whole = find(verdicts, HeapVerdictKind::kGrowing);
    ASSERT_TRUE(whole);
    EXPECT_THAT(present::sentence_of(*whole), HasSubstr("What is selected of the heap grows by "));
    EXPECT_THAT(all_text(*whole), testing::Not(HasSubstr("anonymous memory"))) << "that is of all blocks";
    const HeapVerdict* found = find(verdicts, HeapVerdictKind::kLeak);
    ASSERT_TRUE(found);
    EXPECT_THAT(present::sentence_of(*found), HasSubstr("of the selection's growth"));
  }
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

// A stripped library: what wants the memory is what a named function of it was asked for.
TEST(HeapVerdicts, OfAFunctionWithoutANameNameTheNearestCallerThatHasOne) {
  const auto text_of = [](const std::vector<std::string>& callers) {
    Server server;
    std::vector<model::HeapSiteId> sites;
    for (const std::string& caller : callers)
      sites.push_back(server.site(server.stack({server.frame(server.app(), {"__libc_start_call_main"}),
                                                server.frame(server.app(), {caller}),
                                                server.frame(server.app(), {"librb.so.3@fde+0x50"}),
                                                server.frame(server.app(), {"librb.so.3@fde+0x90"})}),
                                  server.worker()));
    for (int i = 0; i < 60; ++i) {
      server.second();
      for (const model::HeapSiteId site : sites) server.row(site, {100, 10'000});
    }
    const auto verdicts = server.verdicts();
    const HeapVerdict* leak = find(verdicts, HeapVerdictKind::kLeak);
    return leak == nullptr ? std::string("no leak") : all_text(*leak);
  };
  EXPECT_THAT(text_of({"ary_push"}),
              HasSubstr("the memory of code below ary_push (an unnamed function of librb, 0x90) grows"));
  EXPECT_THAT(text_of({"ary_push", "ary_push", "hash_set"}), HasSubstr("code below ary_push"))
      << "most of its stacks have it";
  EXPECT_THAT(text_of({"ary_push", "hash_set", "str_new"}),
              HasSubstr("the memory of an unnamed function of librb (0x90)"))
      << "none has most";
  EXPECT_THAT(text_of({"librb.so.3@fde+0x10"}), HasSubstr("an unnamed function of librb (0x90)"))
      << "how programs start is no caller";
}

}  // namespace
}  // namespace fathom::analysis
