#include "analysis/heap/heap_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/core/stack_choice.h"
#include "analysis/core/words.h"
#include "analysis/heap/hand_made_heap.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

using model::Metric;
using testing::ElementsAre;

constexpr HeapGrouping kAll[] = {HeapGrouping::kStack,    HeapGrouping::kFunction, HeapGrouping::kModule,
                                 HeapGrouping::kCrate,    HeapGrouping::kThread,   HeapGrouping::kSize,
                                 HeapGrouping::kAllocator};

HeapGroups group(const model::Profile& profile, HeapGrouping by, Metric metric = Metric::kHeapAllocated,
                 Selection selection = {}) {
  selection.metric = metric;
  return group_heap(profile, {.selection = selection, .by = by});
}
std::vector<std::string> lines(const HeapGroups& groups) {
  std::vector<std::string> texts;
  for (const HeapGroupRow& row : groups.rows)
    texts.push_back(row.name + " " + std::to_string(std::llround(row.flat.value)) + " " +
                    std::to_string(std::llround(row.cumulative.value)));
  return texts;
}

TEST(HeapGroups, FunctionsHaveWhatTheyAskedForAndWhatWasAskedForBelowThem) {
  EXPECT_THAT(lines(group(small_heap().profile, HeapGrouping::kFunction)),
              ElementsAre("server::load(std::string const&) 8000000 8000000",
                          "server::request::parse 6000000 6000000", "server::Cache::put(int) 1100000 1100000",
                          "server::serve 2560 7102560", "main 0 15102560"));
}

TEST(HeapGroups, FunctionsOfLibrariesAreShownOnRequest) {
  const HeapGroups groups = group(small_heap().profile, HeapGrouping::kFunction, Metric::kHeapAllocated,
                                  {.fold_containers = false});
  EXPECT_THAT(lines(groups), testing::Contains("std::vector<char>::_M_default_append(unsigned long) 8000000 "
                                               "8000000"));
  EXPECT_THAT(lines(groups), testing::Contains("strdup 2560 2560"));
}

TEST(HeapGroups, CratesAndModulesAndThreadsAndAllocators) {
  const model::Profile profile = small_heap().profile;
  EXPECT_THAT(lines(group(profile, HeapGrouping::kCrate)),
              // main is in nothing, so it stands for its module, which has the crate's name here
              ElementsAre("server 15102560 15102560"));
  EXPECT_THAT(
      lines(group(profile, HeapGrouping::kModule, Metric::kHeapAllocated, {.fold_containers = false})),
      ElementsAre("server 15100000 15102560", "libc.so.6 2560 2560"));
  EXPECT_THAT(lines(group(profile, HeapGrouping::kThread)),
              ElementsAre("loader 8000000 8000000", "worker 7102560 7102560"));
  EXPECT_THAT(lines(group(profile, HeapGrouping::kAllocator)),
              ElementsAre("glibc 2.36 9102560 9102560", "jemalloc 5.3.0 (_rjem_) 6000000 6000000"));
}

TEST(HeapGroups, OfSizesAreTheSitesThatAskedForThem) {
  HandMadeHeap hand = small_heap();
  const auto of_sizes = [&](std::uint8_t first, std::uint8_t end) {
    return lines(group(hand.profile, HeapGrouping::kFunction, Metric::kHeapAllocated,
                       {.asked_sizes = SizeBuckets{first, end}}));
  };
  EXPECT_THAT(of_sizes(7, 8), ElementsAre("server::request::parse 6000000 6000000", "main 0 6000000",
                                          "server::serve 0 6000000"));
  EXPECT_THAT(of_sizes(8, 65), ElementsAre("server::Cache::put(int) 1100000 1100000", "main 0 1100000",
                                           "server::serve 0 1100000"));
  EXPECT_THAT(of_sizes(20, 65), testing::IsEmpty());
  // Another thread of the name with the same stack is the same site, a thread of another name is not.
  const model::HeapSite cache = hand.profile.heap.sites[1];
  const model::ProcessId process = hand.profile.threads[cache.thread.value].process;
  hand.row(hand.site(cache.stack, hand.thread(process, 13, "worker"), cache.allocator), {1, 500'000});
  hand.row(hand.site(cache.stack, hand.thread(process, 14, "other"), cache.allocator), {1, 70});
  EXPECT_THAT(of_sizes(8, 65), testing::Contains("server::Cache::put(int) 1600000 1600000"));
}

TEST(HeapGroups, HiddenCallsAreNoRowsAndWhatTheyAskedForIsTheirCallers) {
  const model::Profile profile = small_heap().profile;
  const auto cut = [&](HeapGrouping by, const StackCuts& cuts) {
    return group(profile, by, Metric::kHeapAllocated,
                 {.stacks = choose_stacks(profile, {}, {}, cuts).value()});
  };
  EXPECT_THAT(lines(cut(HeapGrouping::kFunction, {{"Cache::put", "load", "request"}, {}})),
              ElementsAre("main 8000000 15102560", "server::serve 7102560 7102560"));
  const HeapGroups stacks = cut(HeapGrouping::kStack, {{"server::serve"}, {}});
  ASSERT_EQ(stacks.rows.size(), 4u);
  EXPECT_THAT(stacks.rows[1].stack, ElementsAre("server::request::parse", "main"));
  EXPECT_THAT(lines(cut(HeapGrouping::kFunction, {{}, {"server::serve"}})),
              ElementsAre("server::request::parse 6000000 6000000", "server::Cache::put(int) 1100000 1100000",
                          "server::serve 2560 7102560"));
  EXPECT_THAT(lines(cut(HeapGrouping::kFunction, {{"server", "main"}, {}})),
              ElementsAre("[no stack] 15102560 15102560"));
}

TEST(HeapGroups, StacksThatReadAlikeAreOne) {
  HandMadeHeap hand = small_heap();
  const auto app = hand.profile.heap.allocators[2].module;
  const auto again = hand.builder.frame_with_lines(app, {0x9000}, {{"server::Cache::put(int)", "", 0}});
  const auto parent =
      hand.profile.stacks[hand.profile.stacks[hand.profile.heap.sites[1].stack.value].parent.value].parent;
  hand.row(hand.site(hand.builder.stack(parent, again)), {1, 7});
  const HeapGroups groups = group(hand.profile, HeapGrouping::kStack, Metric::kHeapAllocations);
  ASSERT_EQ(groups.rows.size(), 4u);
  EXPECT_THAT(groups.rows[1].stack, ElementsAre("server::Cache::put(int)", "server::serve", "main"));
  EXPECT_EQ(groups.rows[1].flat.value, 1101);
  EXPECT_EQ(groups.rows[1].sites, 2u);
}

TEST(HeapGroups, RatesAreOfTheWindowAndBothKindsOfTemporaryAreThere) {
  const HeapGroups all = group(small_heap().profile, HeapGrouping::kFunction, Metric::kHeapAllocations);
  EXPECT_EQ(all.rows[0].name, "server::request::parse");
  EXPECT_DOUBLE_EQ(all.window_s, 3);
  EXPECT_EQ(all.rows[0].temporary.blocks, 48'000);
  EXPECT_EQ(all.rows[0].short_lived.blocks, 58'500);
  const HeapGroups last = group(small_heap().profile, HeapGrouping::kFunction, Metric::kHeapAllocations,
                                {.from_ns = 2'000'000'000});
  EXPECT_DOUBLE_EQ(last.window_s, 1);
  EXPECT_EQ(last.rows[0].flat.value, 10'000);
}

TEST(HeapGroups, SizesAreSharedOutAsTheStackAskedForThem) {
  model::Profile profile = small_heap().profile;
  EXPECT_THAT(
      lines(group(profile, HeapGrouping::kSize, Metric::kHeapAllocations)),
      ElementsAre("64 to 127 bytes 60000 60000", "512 to 1023 bytes 1100 1100", "[size not known] 60 60"));
  EXPECT_FALSE(group(profile, HeapGrouping::kSize).estimated);
  // The cache asks for a second size: one block in eleven, a tenth of its bytes.
  profile.heap.histograms[1].sum = {1000, 990'000};
  profile.heap.histograms.push_back({{1}, model::HeapHistogramKind::kSize, 5, {100, 110'000}});
  const HeapGroups live = group(profile, HeapGrouping::kSize, Metric::kHeapLive);
  EXPECT_TRUE(live.estimated);
  EXPECT_THAT(lines(live),
              testing::IsSupersetOf({"512 to 1023 bytes 900000 900000", "16 to 31 bytes 100000 100000"}));
}

TEST(HeapGroups, OfSamplesHaveTheirError) {
  const HeapGroups groups = group(small_heap(model::HeapMode::kSampled).profile, HeapGrouping::kFunction);
  EXPECT_TRUE(groups.sampled);
  EXPECT_DOUBLE_EQ(groups.rows[0].flat.variance, 8'000'000.0 * (512u << 10));
  EXPECT_GT(groups.rows.back().cumulative.error(), groups.rows[0].flat.error());
}

TEST(HeapGroups, WordsOfGroupingsAreReadBack) {
  for (const HeapGrouping by : kAll) EXPECT_EQ(heap_grouping_from(to_string(by)), by);
  EXPECT_EQ(heap_grouping_from("colour"), std::nullopt);
}

TEST(HeapGroups, OfAnyProfileAddUpToTheTotalForAnyGrouping) {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    if (profile.heap.empty()) continue;
    ++seen;
    for (const Metric metric : {Metric::kHeapAllocated, Metric::kHeapLive, Metric::kHeapGrowth,
                                Metric::kHeapTemporary, Metric::kHeapPeak}) {
      const Selection selection{.metric = metric};
      const HeapSums sums(profile, selection);
      double expected = 0, size = 0;
      for (std::uint32_t i = 0; i < profile.heap.sites.size(); ++i) {
        const double value = sums.value({i}, metric, unit_of_heap(selection)).value;
        expected += value;
        size += std::fabs(value);
      }
      for (const HeapGrouping by : kAll) {
        const HeapGroups groups = group(profile, by, metric);
        double flat = 0;
        for (const HeapGroupRow& row : groups.rows) {
          flat += row.flat.value;
          if (metric == Metric::kHeapGrowth) continue;
          EXPECT_GE(row.cumulative.value, row.flat.value * (1 - 1e-9)) << "seed " << seed << row.name;
        }
        EXPECT_NEAR(flat, expected, 1e-9 * size) << "seed " << seed << " by " << to_string(by);
        EXPECT_NEAR(groups.total.value, expected, 1e-9 * size) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(seen, 20);
}

TEST(HeapGroups, JsonHasAllOfIt) {
  nlohmann::ordered_json json;
  add_heap_groups(json, group(small_heap().profile, HeapGrouping::kFunction), 2);
  const auto& groups = json["heap_groups"];
  EXPECT_EQ(groups["rows_total"], 5);
  ASSERT_EQ(groups["rows"].size(), 2u);
  EXPECT_EQ(groups["rows"][0]["name"], "server::load(std::string const&)");
  EXPECT_NEAR(groups["rows"][0]["flat_percent"].get<double>(), 52.97, 0.01);
  EXPECT_NEAR(groups["rows"][1]["allocations_per_s"].get<double>(), 20'000, 1e-6);
}

}  // namespace
}  // namespace fathom::analysis
