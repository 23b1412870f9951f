#include "formats/dumps/merge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/core/heap.h"
#include "model/marks.h"
#include "model/steps.h"

namespace fathom::dumps {
namespace {

using Kind = Merge::Kind;
using testing::HasSubstr;

struct Row {
  std::uint64_t address, objects, bytes, all_objects = 0, all_bytes = 0;
};

// A dump in jemalloc's format: each row is a stack of one address, of a program mapped at `base`.
DumpFile dump(const std::string& name, const std::vector<Row>& rows, std::uint64_t base = 0x400000,
              std::uint64_t modified = 0, std::uint64_t mean = 1024) {
  std::string text = fmt::format("heap_v2/{}\n  t*: 1: 1 [0: 0]\n", mean);
  for (const Row& row : rows)
    text += fmt::format("@ {:#x}\n  t*: {}: {} [{}: {}]\n", base + row.address, row.objects, row.bytes,
                        row.all_objects, row.all_bytes);
  text += fmt::format(
      "\nMAPPED_LIBRARIES:\n{:x}-{:x} r-xp 00000000 08:02 1 /nowhere/server\n7fff0000-7fff1000 r-xp 00000000 "
      "00:00 0 [vdso]\n",
      base, base + 0x10000);
  return {name, formats::parse_dump_name(name), modified, formats::read_heap_dump(text, name).value()};
}

Result<model::Profile> merged(const std::vector<DumpFile>& files, std::string_view how = "",
                              std::optional<std::int32_t> pid = {}) {
  return merge_dumps(files, how.empty() ? Merge{} : parse_merge(how).value(), pid, {});
}

analysis::HeapSums sums_of(const model::Profile& profile, bool since_first = false) {
  analysis::Selection selection;
  if (since_first) selection.from_ns = 1;
  return {profile, selection};
}
double live_of(const model::Profile& profile) {
  return sums_of(profile).total().live.bytes.value;
}
double live_in_file(const DumpFile& file) {
  return live_in(file.dump).sum.bytes;
}

// Three dumps of a leak and a constant cache, and the dump at exit.
std::vector<DumpFile> leaking() {
  std::vector<DumpFile> files;
  files.push_back(dump("p.7.0.i0.heap", {{0x100, 10, 20480}, {0x200, 50, 5000}}));
  files.push_back(dump("p.7.1.i1.heap", {{0x100, 20, 40960}, {0x200, 50, 5000}}));
  files.push_back(dump("p.7.2.m0.heap", {{0x100, 30, 61440}, {0x200, 50, 5000}}));
  files.push_back(dump("p.7.3.f.heap", {{0x200, 1, 100}}));
  return files;
}

TEST(MergeWords, AnUnknownMergeIsRejectedWithAListOfAll) {
  EXPECT_EQ(parse_merge("latest").value().kind, Kind::kLatest);
  EXPECT_EQ(parse_merge("last:5").value(), (Merge{Kind::kLast, 5}));
  for (const char* wrong : {"", "last", "last:", "last:0", "last:-1", "last:2x", "newest"})
    EXPECT_THAT(parse_merge(wrong).error().remedy, HasSubstr("last:N")) << wrong;
}

TEST(MergedDumps, OfOneProcessMeanTheLatestAndNeverSilentlyTheOneAtExit) {
  const auto files = leaking();
  const auto profile = merged(files);
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_NEAR(live_of(*profile), live_in_file(files[2]), 1e-6);
  EXPECT_EQ(profile->meta.target, "server, pid 7, dump 2 (m0)");
  EXPECT_THAT(
      profile->quality.notes.front(),
      HasSubstr(". The exit dump is left out because it is written after the program has cleaned up"));
  EXPECT_EQ(profile->meta.facts.at(kHeapAllocated), "not counted");
}

TEST(MergedDumps, ResultsAreNamedAfterTheDumpThatWasUsed) {
  const auto named = [](std::string_view how) {
    return merged(leaking(), how).value().meta.facts.at(kResultName);
  };
  EXPECT_EQ(named(""), "p.7.2.m0.heap");
  EXPECT_EQ(named("max"), "p.7.2.m0.heap");
  EXPECT_EQ(named("all"), "p.7.heap");
  EXPECT_EQ(named("mean"), "p.7.heap");
}

TEST(MergedDumps, FromStandardInputAreCalledSo) {
  const auto profile = merged({dump("-", {{0x100, 10, 20480}})});
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->meta.target, "server, a dump from standard input");
  EXPECT_THAT(profile->quality.notes.front(), HasSubstr("one dump, standard input."));
}

TEST(MergedDumps, WithoutTimesCountAsOneSecondEach) {
  auto files = leaking();
  const auto steps_of = [&files] { return merged(files, "all")->meta.facts.contains(model::kStepsFact); };
  for (std::size_t i = 0; i < files.size(); ++i) files[i].modified_unix_ns = (i + 1) * 1'000'000'000;
  EXPECT_FALSE(steps_of());
  for (DumpFile& file : files) file.modified_unix_ns = 0;
  EXPECT_TRUE(steps_of());
}

TEST(MergedDumps, OnlyTheOneAtExitIsReportedAsSuch) {
  const std::vector<DumpFile> files{dump("p.7.3.f.heap", {{0x200, 1, 100}})};
  const auto named = merged(files);
  ASSERT_TRUE(named);
  EXPECT_THAT(named->quality.notes.front(), HasSubstr("after it had cleaned up"));
  EXPECT_THAT(merged(files, "latest")->quality.notes.front(), HasSubstr("as there is no other"));
}

TEST(MergedDumps, AreOrderedByNumberNotByName) {
  std::vector<DumpFile> files;
  for (const int i : {10, 2, 9})
    files.push_back(
        dump(fmt::format("p.7.{}.i{}.heap", i, i), {{0x100, 1, 1000u * static_cast<unsigned>(i)}}));
  EXPECT_EQ(merged(files)->meta.target, "server, pid 7, dump 10 (i10)");
}

TEST(MergedDumps, MeanTheSameInAnyOrder) {
  const auto files = leaking();
  const std::vector<DumpFile> other{files[2], files[0], files[3], files[1]};
  for (const char* how : {"latest", "all", "last:2", "mean", "max"}) {
    const auto one = merged(files, how), two = merged(other, how);
    ASSERT_TRUE(one && two) << how;
    EXPECT_NEAR(live_of(*one), live_of(*two), 1e-6) << how;
    EXPECT_EQ(one->meta.target, two->meta.target);
  }
}

TEST(MergedDumps, OverTimeEndAtTheLastAndShowGrowthBySite) {
  const auto files = leaking();
  const std::vector<DumpFile> three(files.begin(), files.begin() + 3);
  const auto profile = merged(three, "all");
  ASSERT_TRUE(profile) << profile.error().message;
  ASSERT_EQ(profile->heap.slices.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(profile->heap.slices[i].live_bytes, live_in_file(three[i]), 1e-6) << i;
  // base + growth = latest, of the whole and of each site.
  const auto sums = sums_of(*profile, true);
  EXPECT_NEAR(sums.total().before.bytes.value, live_in_file(three[0]), 1e-6);
  EXPECT_NEAR(sums.total().live.bytes.value, live_in_file(three[2]), 1e-6);
  for (const auto& site : sums.sites())
    EXPECT_NEAR(site.before.bytes.value + site.growth.bytes.value, site.live.bytes.value, 1e-6);
  // Live memory is as uncertain as in the last dump alone.
  EXPECT_NEAR(sums.total().live.bytes.variance, live_in(three[2].dump).variance.bytes,
              1e-6 * live_in(three[2].dump).variance.bytes);
  EXPECT_THAT(profile->quality.notes,
              testing::Contains(HasSubstr("2 dumps with the letter i: so many bytes were allocated")));
  EXPECT_THAT(profile->quality.notes, testing::Contains(HasSubstr("1 dump with the letter m")));
  const std::vector<model::Phase> marks = model::phases_of(*profile);
  ASSERT_EQ(marks.size(), 3u) << "each dump is a moment of the time axis";
  EXPECT_EQ(marks[1].name, "i1");
  EXPECT_EQ(marks[2].name, "m0");
  EXPECT_NEAR(marks[2].from_s - marks[1].from_s, 1, 1e-3);
}

TEST(MergedDumps, OverTimeShowGrowthEvenIfFilesHaveTheSameTime) {
  // File times have a resolution of some milliseconds.
  const std::vector<DumpFile> files{dump("p.7.0.i0.heap", {{0x100, 10, 20480}}, 0x400000, 5'000'000),
                                    dump("p.7.1.i1.heap", {{0x100, 20, 40960}}, 0x400000, 5'000'000),
                                    dump("p.7.2.i2.heap", {{0x100, 30, 61440}}, 0x400000, 9'000'000)};
  const auto profile = merged(files, "all");
  ASSERT_TRUE(profile);
  EXPECT_NEAR(sums_of(*profile, true).total().growth.bytes.value,
              live_in_file(files[2]) - live_in_file(files[0]), 1e-6);
}

TEST(MergedDumps, LastTakesThatManyFromTheEnd) {
  const auto files = leaking();
  const std::vector<DumpFile> three(files.begin(), files.begin() + 3);
  const auto profile = merged(three, "last:2");
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->heap.slices.size(), 2u);
  EXPECT_NEAR(sums_of(*profile, true).total().growth.bytes.value,
              live_in_file(three[2]) - live_in_file(three[1]), 1e-6);
}

TEST(MergedDumps, MeanAndMaxGiveTheMeanAndTheLargest) {
  const auto files = leaking();
  double mean = 0;
  for (const DumpFile& file : files) mean += live_in_file(file) / 4;
  EXPECT_NEAR(live_of(*merged(files, "mean")), mean, 1e-6);
  EXPECT_NEAR(live_of(*merged(files, "max")), live_in_file(files[2]), 1e-6);
  EXPECT_THAT(merged(files, "mean")->quality.notes.front(),
              HasSubstr("; no single moment looked like this."));
}

TEST(MergedDumps, OfOneProcessAreNeverAddedUp) {
  EXPECT_THAT(
      merged(leaking(), "sum").error().message,
      HasSubstr(
          "--merge sum adds up different processes, but these dumps are from one: each holds everything that was live, so a sum would count it many times"));
}

TEST(MergedDumps, OfSeveralProcessesAreAddedUpOnlyOnRequest) {
  std::vector<DumpFile> files{dump("p.7.0.i0.heap", {{0x100, 10, 20480}}),
                              dump("p.8.0.i0.heap", {{0x100, 4, 4096}}, 0x800000)};
  EXPECT_THAT(merged(files).error().message, HasSubstr("the dumps are from 2 processes (process 7 (p)"));
  const auto sum = merged(files, "sum");
  ASSERT_TRUE(sum) << sum.error().message;
  // all = sum of parts
  EXPECT_NEAR(live_of(*sum), live_in_file(files[0]) + live_in_file(files[1]), 1e-6);
  EXPECT_EQ(sum->heap.heaps.size(), 2u);
  EXPECT_NEAR(live_of(*merged(files, "", 8)), live_in_file(files[1]), 1e-6);
  EXPECT_EQ(merged(files, "", 9).error().kind, ErrorKind::kNotFound);
}

TEST(MergedDumps, OfAnEarlierRunWithTheSameNumberAreLeftOut) {
  // A container's process has the pid 1 in each run; the program is mapped at other addresses.
  std::vector<DumpFile> files{dump("p.1.0.i0.heap", {{0x100, 1, 1000}}, 0x900000, 20),
                              dump("p.1.1.i1.heap", {{0x100, 9, 9000}}, 0x400000, 11),
                              dump("p.1.2.i2.heap", {{0x100, 9, 9900}}, 0x400000, 12)};
  const auto profile = merged(files);
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_NEAR(live_of(*profile), live_in_file(files[0]), 1e-6);
  EXPECT_THAT(profile->quality.notes,
              testing::Contains(HasSubstr("2 dumps of an earlier run of process 1 are left out")));
}

TEST(MergedDumps, OfOneRunStayTogetherIfTheProgramsFileIsReplacedOrADumpIsCut) {
  auto files = leaking();
  files.pop_back();
  files[2].dump.maps.insert(files[2].dump.maps.find("/nowhere/server") + 15, " (deleted)");
  files.push_back(dump("p.7.3.i2.heap", {{0x100, 40, 81920}}, 0x400000, 99));
  files.back().dump.maps.clear();
  const auto profile = merged(files, "all");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_THAT(profile->quality.notes, testing::Not(testing::Contains(HasSubstr("earlier run"))));
  EXPECT_EQ(instances_of(files).size(), 1u);
  EXPECT_EQ(instances_of(files).front().dumps.size(), 4u);
}

TEST(MergedDumps, OfAForkedChildIncludeItsParentsPastAndAreNotAddedToIt) {
  std::vector<DumpFile> files{dump("p.7.0.i0.heap", {{0x100, 10, 20480}}),
                              dump("p.8.1.i1.heap", {{0x100, 10, 20480}})};
  EXPECT_THAT(merged(files, "sum").error().message, HasSubstr("was forked"));
  EXPECT_THAT(merged(files, "latest", 7)->quality.notes,
              testing::Not(testing::Contains(HasSubstr("forked"))));
}

TEST(MergedDumps, OfTwoProcessesWithTheSameMappingsAreNotAddedUpEvenIfNeitherIsTheParent) {
  std::vector<DumpFile> files{dump("p.7.0.i0.heap", {{0x100, 10, 20480}}),
                              dump("p.8.0.i0.heap", {{0x100, 10, 20480}})};
  EXPECT_THAT(
      merged(files, "sum").error().message,
      HasSubstr(
          "has the same mappings as another one: if one was forked from the other, memory live at the fork would count twice"));
  EXPECT_THAT(merged(files, "latest", 8)->quality.notes,
              testing::Contains(HasSubstr("if this one was forked from it")));
}

TEST(MergedDumps, OfAnotherPidAreRejectedEvenIfThereIsOnlyOneFile) {
  EXPECT_EQ(merged({dump("p.7.0.i0.heap", {{0x100, 10, 20480}})}, "", 8).error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(merged({dump("p.7.0.i0.heap", {{0x100, 10, 20480}})}, "", 7));
}

TEST(MergedDumps, OverTimeExplainWhyTheyDoNotUseTheFilesTimes) {
  const auto notes = [](std::vector<std::uint64_t> modified) {
    std::vector<DumpFile> files;
    for (const std::uint64_t time : modified)
      files.push_back(
          dump(fmt::format("p.7.{0}.i{0}.heap", files.size()), {{0x100, 10, 20480}}, 0x400000, time));
    return merged(files, "all")->quality.notes;
  };
  const auto why = [](std::string_view text) { return testing::Contains(HasSubstr(std::string(text))); };
  EXPECT_THAT(notes({3, 2}), why("The times of the files are not in the order of the dumps, so each dump"));
  EXPECT_THAT(notes({3, 3}), why("All files have the same time, so each dump"));
  EXPECT_THAT(notes({0, 3}), why("The time of the dumps is unknown, so each dump"));
  EXPECT_THAT(notes({2, 3}), testing::Not(why("so each dump")));
  EXPECT_THAT(notes({3}), testing::Not(why("so each dump")));
}

TEST(MergedDumps, WithoutAPidShowNone) {
  std::vector<DumpFile> files{dump("before.heap", {{0x100, 10, 20480}}),
                              dump("after.heap", {{0x100, 10, 20480}})};
  EXPECT_EQ(merged(files, "mean")->meta.target, "server, the mean of 2 dumps");
  EXPECT_EQ(merged(files, "all")->meta.target, "server, 2 dumps");
}

TEST(MergedDumps, MeanHasTheSamplesOfOneDumpNotOfAll) {
  const auto mean = merged(
      {dump("p.7.0.i0.heap", {{0x100, 10, 20480}}), dump("p.7.1.i1.heap", {{0x100, 12, 20480}})}, "mean");
  EXPECT_EQ(mean->heap.heaps.front().events, 12u);
}

TEST(MergedDumps, AnEmptyDumpDoesNotHideTheCountersOfOthers) {
  const auto profile =
      merged({dump("p.7.0.i0.heap", {}), dump("p.7.1.i1.heap", {{0x100, 2, 4096, 5, 10240}})}, "all");
  EXPECT_FALSE(profile->meta.facts.contains(kHeapAllocated));
}

TEST(MergedDumps, AllocationCountersAreSubtractedInOrder) {
  // Blocks so large that all are sampled.
  constexpr std::uint64_t kLarge = 1 << 20;
  std::vector<DumpFile> files{dump("p.7.0.i0.heap", {{0x100, 2, 2 * kLarge, 5, 5 * kLarge}}),
                              dump("p.7.1.i1.heap", {{0x100, 1, kLarge, 9, 9 * kLarge}}),
                              dump("p.7.2.i2.heap", {{0x100, 4, 4 * kLarge, 12, 12 * kLarge}})};
  const auto profile = merged(files, "all");
  ASSERT_TRUE(profile);
  EXPECT_FALSE(profile->meta.facts.contains(kHeapAllocated));
  const auto all = sums_of(*profile), since = sums_of(*profile, true);
  EXPECT_DOUBLE_EQ(all.total().allocated.blocks.value, 12);
  EXPECT_DOUBLE_EQ(all.total().freed.blocks.value, 8);
  EXPECT_DOUBLE_EQ(since.total().allocated.blocks.value, 7);
  EXPECT_DOUBLE_EQ(since.total().live.bytes.value, 4.0 * kLarge);
}

TEST(Dumps, EachPairIsUnbiasedBeforeItIsAddedUp) {
  // Two sizes: unbiasing the sum of both gives another number.
  const std::vector<DumpFile> files{dump("p.7.0.i0.heap", {{0x100, 100, 1600}, {0x200, 10, 40960}})};
  const double apart = 1600 / -std::expm1(-16.0 / 1024) + 40960 / -std::expm1(-4096.0 / 1024);
  EXPECT_NEAR(live_of(*merged(files)), apart, 1e-6 * apart);
}

TEST(Dumps, ThreadsShareTheValuesOfTheirStacksRow) {
  const std::string text =
      "heap_v2/1024\n  t*: 9: 900 [0: 0]\n  t1: 1: 1 [0: 0] main\n@ 0x10\n  t*: 10: 1000 [0: 0]\n  t1: 3: "
      "320 [0: 0]\n  t2: 6: 610 "
      "[0: 0]\n\nMAPPED_LIBRARIES:\n";
  const std::vector<DumpFile> files{{"x.heap", {}, 0, formats::read_heap_dump(text, "x").value()}};
  const auto profile = merged(files);
  ASSERT_TRUE(profile) << profile.error().message;
  ASSERT_EQ(profile->heap.sites.size(), 2u);
  EXPECT_NEAR(live_of(*profile), live_in_file(files[0]), 1e-9 * live_in_file(files[0]));
  EXPECT_EQ(profile->strings[profile->threads[0].name], "main");
  analysis::Selection selection;
  selection.thread = "main";
  const double main = analysis::HeapSums(*profile, selection).total().live.bytes.value;
  EXPECT_NEAR(main / live_in_file(files[0]), 1.0 / 3, 0.02);
}

TEST(Dumps, NamesInTheDumpKeepTheirInlinedCalls) {
  const std::string text =
      "--- symbol\nbinary=/nowhere/server\n0x0f outer--inner\n---\n--- heap\nheap_v2/1024\n@ 0x10\n  t*: 1: "
      "1000 [0: "
      "0]\n\nMAPPED_LIBRARIES:\n";
  const std::vector<DumpFile> files{{"x.heap", {}, 0, formats::read_heap_dump(text, "x").value()}};
  const auto profile = merged(files);
  ASSERT_TRUE(profile);
  const model::Frame& frame =
      profile->frames[profile->stacks[profile->heap.sites[0].stack.value].frame.value];
  ASSERT_EQ(frame.line_count, 2u);
  EXPECT_EQ(profile->strings[profile->functions[profile->lines[frame.first_line].function.value].name],
            "inner");
}

TEST(Dumps, MissingFilesAreReported) {
  const auto profile = merged({dump("p.7.0.i0.heap", {{0x100, 1, 1000}})});
  ASSERT_TRUE(profile);
  EXPECT_THAT(profile->quality.notes, testing::Contains(HasSubstr("/nowhere/server is not on this machine")));
}

}  // namespace
}  // namespace fathom::dumps
