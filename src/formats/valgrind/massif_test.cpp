#include "formats/valgrind/massif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/import/import_testing.h"
#include "model/steps.h"

namespace fathom::formats {
namespace {

using model::Metric;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string snapshot(int number, int time, int bytes, const std::string& tree) {
  return "#-----------\nsnapshot=" + std::to_string(number) + "\n#-----------\ntime=" + std::to_string(time) +
         "\nmem_heap_B=" + std::to_string(bytes) + "\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=" + tree +
         "\n";
}
const std::string kHead = "desc: --detailed-freq=1\ncmd: ./book 1 2\ntime_unit: ms\n";
const std::string kTwo = kHead + snapshot(0, 0, 0, "empty") +
                         snapshot(1, 100, 3000,
                                  "peak\n"
                                  "n2: 3000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
                                  " n1: 2000 0x401000: keep (book.c:12)\n"
                                  "  n0: 2000 0x402000: main (book.c:30)\n"
                                  " n0: 1000 in 3 places, all below massif's threshold (1.00%)") +
                         snapshot(2, 150, 2500, "empty") +
                         snapshot(3, 200, 700,
                                  "detailed\n"
                                  "n1: 700 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
                                  " n0: 700 0x401000: keep (book.c:12)");

TEST(Massif, SnapshotsWithStacksAreWhatWasLive) {
  ASSERT_TRUE(is_massif(kTwo));
  const model::Profile profile = read_massif(kTwo, "x").value();
  EXPECT_THAT(stacks_of(profile, Metric::kHeapPeak),
              ElementsAre("[places below massif's threshold] 1000", "main;keep 2000"));
  EXPECT_THAT(stacks_of(profile, Metric::kHeapLive), ElementsAre("keep 700"));
  const model::Heap& heap = profile.heap.heaps[0];
  EXPECT_EQ(heap.peak_bytes, 3000);
  EXPECT_EQ(heap.peak_ns - profile.meta.start_ns, 100'000'000u);
  EXPECT_EQ(profile.heap.slices.size(), 2u);
  EXPECT_EQ(profile.heap.slices[1].live_bytes, 700);
  EXPECT_EQ(profile.heap.slices[1].peak_bytes, 2500) << "of a snapshot between that has no stacks";
  EXPECT_EQ(profile.strings[profile.processes[0].name], "book");
  EXPECT_THAT(
      profile.quality.notes,
      Contains(HasSubstr(
          "massif keeps stacks of live memory at 2 of 4 moments, and no numbers of blocks: each call site counts as one.")));
  EXPECT_THAT(profile.quality.notes, Contains(HasSubstr("the allocator took 8 bytes more")));
}

TEST(Massif, HeaptracksOwnWayOfWritingItIsReadToo) {
  // heaptrack_print -M has snapshots before the three lines of the head.
  const std::string text = kTwo.substr(kHead.size()) + kHead;
  ASSERT_TRUE(is_massif(text));
  EXPECT_EQ(total_of(read_massif(text, "x").value(), Metric::kHeapPeak), 3000);
  // Seconds with fractions.
  std::string seconds = text;
  for (const auto& [whole, fraction] : {std::pair("time=100\n", "time=1.25\n"),
                                        {"time=150\n", "time=1.5\n"},
                                        {"time=200\n", "time=2\n"},
                                        {"unit: ms", "unit: s"}})
    seconds.replace(seconds.find(whole), std::string_view(whole).size(), fraction);
  const model::Profile profile = read_massif(seconds, "x").value();
  EXPECT_EQ(profile.heap.heaps[0].peak_ns - profile.meta.start_ns, 1'250'000'000u);
  EXPECT_EQ(profile.meta.end_ns - profile.meta.start_ns, 2'000'000'000u);
  for (const char* damaged : {"time=-1\n", "time=nan\n", "time=1e300\n", "time=1.5x\n"}) {
    std::string bad = seconds;
    bad.replace(bad.find("time=1.5\n"), 9, damaged);
    const Result<model::Profile> read = read_massif(bad, "x");
    ASSERT_TRUE(read) << damaged;
    EXPECT_THAT(read->quality.notes, testing::Contains(HasSubstr("none of massif's and is left out")))
        << damaged;
  }
}

TEST(Massif, SecondsThatAreNoTimesAreSaidToBeSteps) {
  const auto steps_of = [](const std::string& unit) {
    std::string text = kHead + snapshot(0, 5, 4000, "peak\nn0: 4000 (heap allocation functions)\n");
    text.replace(text.find("unit: ms"), 8, "unit: " + unit);
    const model::Profile profile = read_massif(text, "x").value();
    const bool noted = std::ranges::any_of(profile.quality.notes, [](const std::string& note) {
      return note.find("each snapshot counts as one second") != note.npos;
    });
    const auto fact = profile.meta.facts.find(model::kStepsFact);
    EXPECT_EQ(noted, fact != profile.meta.facts.end());
    return fact == profile.meta.facts.end() ? "" : fact->second;
  };
  EXPECT_EQ(steps_of("i"), "snapshot");
  EXPECT_EQ(steps_of("B"), "snapshot");
  EXPECT_EQ(steps_of("ms"), "");
  EXPECT_EQ(steps_of("s"), "") << "as heaptrack_print writes them";
}

// heaptrack_print leaves out all places of a program that allocates little in each, and counts them with 0 bytes.
TEST(Massif, WhatNoPlaceHasIsNotLost) {
  const std::string text = kHead + snapshot(0, 5, 4000,
                                            "detailed\nn1: 4000 (heap allocation functions)\n"
                                            " n0: 0 in 15 places, all below massif's threshold (1)\n");
  EXPECT_THAT(stacks_of(read_massif(text, "x").value(), Metric::kHeapLive),
              ElementsAre("[places below massif's threshold] 4000"));
}

TEST(Massif, DamageIsSaid) {
  const auto refusal = [](const std::string& text) { return read_massif(text, "x").error().message; };
  EXPECT_THAT(refusal(kHead + snapshot(0, 0, 0, "empty")), HasSubstr("no snapshot of massif has stacks"));
  EXPECT_THAT(refusal(kHead + "what is this\n"), HasSubstr("no snapshot of massif has stacks"));
  const auto notes = [](const std::string& text) { return read_massif(text, "x").value().quality.notes; };
  EXPECT_THAT(notes(kHead + snapshot(0, 0, 5, "detailed\nn1: 5 (heap)\n   n0: 5 0x1: f (a.c:1)")),
              testing::Contains(HasSubstr("is none of massif's and is left out; it is line 13")));
  EXPECT_THAT(notes(kHead + snapshot(0, 0, 5, "detailed\nn1: 99999999999999999999 (heap)")),
              testing::Contains(HasSubstr("it is line 12")));
}

}  // namespace
}  // namespace fathom::formats
