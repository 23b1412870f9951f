// Comparing heaps beyond their functions: crates, sizes, lifetimes, and which figures grow with time.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "analysis/diff/diff.h"
#include "analysis/heap/hand_made_heap.h"
#include "model/facts.h"

namespace fathom::analysis {
namespace {

DiffRun heap_run(const model::Profile& profile) {
  DiffRun run;
  run.profile = &profile;
  return run;
}

DiffReport compare(const model::Profile& base, const model::Profile& fresh, model::Metric metric) {
  DiffOptions options;
  options.metric = metric;
  return make_diff({heap_run(base)}, {heap_run(fresh)}, options).value();
}

// A vector in one crate that grows by `factor` from 16 bytes, and a cache in another crate that does not
// change.
HandMadeHeap growing(double factor, int seconds = 3) {
  HandMadeHeap hand;
  hand.profile.meta.end_ns = hand.profile.meta.start_ns + static_cast<std::uint64_t>(seconds) * 1'000'000'000;
  const auto app = hand.module("server", model::ModuleKind::kFile, model::SymbolSource::kDwarf);
  const auto thread = hand.thread(hand.process(10, "server"), 10, "server");
  const auto grow = hand.site(hand.stack({hand.frame(app, {"queue::push"})}), thread);
  const auto cache = hand.site(hand.stack({hand.frame(app, {"cache::put"})}), thread);
  const auto count = [&](model::HeapSiteId site, model::HeapHistogramKind kind, std::uint8_t bucket,
                         double blocks) {
    model::HeapHistogram row;
    row.site = site;
    row.kind = kind;
    row.bucket = bucket;
    row.sum = {blocks, blocks * 8};
    hand.profile.heap.histograms.push_back(row);
  };
  for (int second = 0; second < seconds; ++second) {
    hand.slice();
    double bytes = 0, blocks = 0;
    for (double size = 16; size < 1e6; size *= factor) {
      bytes += size;
      ++blocks;
      count(grow, model::HeapHistogramKind::kSize, static_cast<std::uint8_t>(std::ilogb(size) + 1), 1);
      count(grow, model::HeapHistogramKind::kLifetime, 20, 1);
    }
    hand.row(grow, {blocks, bytes}, {blocks, bytes});
    hand.row(cache, {100, 10'000});
    count(cache, model::HeapHistogramKind::kSize, 7, 100);
  }
  return hand;
}

TEST(DiffHeap, AVectorWithASmallerGrowthFactorAllocatesMoreAndItsCrateIsFirst) {
  const HandMadeHeap twice = growing(2), less = growing(1.5);
  const DiffReport report = compare(twice.profile, less.profile, model::Metric::kHeapAllocations);
  ASSERT_EQ(report.crates.size(), 2u);
  EXPECT_EQ(report.crates[0].name, "queue");
  EXPECT_TRUE(report.crates[0].self.beyond_noise);
  EXPECT_FALSE(report.crates[1].self.beyond_noise);
  EXPECT_EQ(report.rows.front().name, "queue::push");
}

TEST(DiffHeap, SizesAndLivesAreInOrderAndAddUpToAllocationsAndFrees) {
  const HandMadeHeap twice = growing(2), less = growing(1.5);
  const DiffReport report = compare(twice.profile, less.profile, model::Metric::kHeapAllocations);
  ASSERT_FALSE(report.sizes.empty());
  EXPECT_EQ(report.sizes.front().name, "16 bytes to below 32 bytes");
  double base = 0, fresh = 0;
  for (const DiffGroup& size : report.sizes) {
    base += size.self.base;
    fresh += size.self.fresh;
  }
  EXPECT_NEAR(base, report.whole.base, 1e-9);
  EXPECT_NEAR(fresh, report.whole.fresh, 1e-9);
  ASSERT_EQ(report.lifetimes.size(), 1u);
  EXPECT_EQ(report.lifetimes.front().name, "524 us to below 1.05 ms");
  EXPECT_TRUE(report.lifetimes.front().self.beyond_noise);
  // Sizes and lifetimes are not available for another metric or for a part of a recording.
  EXPECT_TRUE(compare(twice.profile, less.profile, model::Metric::kHeapAllocated).sizes.empty());
  DiffRun part = heap_run(twice.profile);
  part.selection.to_ns = 1'500'000'000;
  DiffOptions options;
  options.metric = model::Metric::kHeapAllocations;
  const Result<DiffReport> of_a_part = make_diff({part}, {heap_run(less.profile)}, options);
  ASSERT_TRUE(of_a_part);
  EXPECT_TRUE(of_a_part->sizes.empty());
}

// Small blocks are sampled rarely and large ones always. fathom used to judge both by the overall mean, so it
// called chance in a class of small blocks a change, and a change among large blocks noise.
TEST(DiffHeap, EachSizeInASampledHeapHasItsOwnError) {
  const auto sampled = [](double small_blocks, double large_blocks) {
    HandMadeHeap hand;
    hand.profile.heap.heaps.front().mode = model::HeapMode::kSampled;
    hand.profile.heap.heaps.front().mean_bytes = 512 << 10;
    const auto app = hand.module("server", model::ModuleKind::kFile, model::SymbolSource::kDwarf);
    const auto thread = hand.thread(hand.process(10, "server"), 10, "server");
    const auto count = [&](std::string_view name, std::uint8_t bucket, double blocks, double weight) {
      const auto site = hand.site(hand.stack({hand.frame(app, {std::string(name)})}), thread);
      const double bytes = blocks * std::ldexp(1.0, bucket - 1);
      model::HeapRow& row = hand.row(site, {blocks, bytes});
      row.allocated_variance = {blocks * weight, 0};
      for (const auto kind : {model::HeapHistogramKind::kSize, model::HeapHistogramKind::kLifetime}) {
        model::HeapHistogram histogram;
        histogram.site = site;
        histogram.kind = kind;
        histogram.bucket = bucket;
        histogram.sum = {blocks, bytes};
        hand.profile.heap.histograms.push_back(histogram);
      }
    };
    hand.slice();
    count("small", 5, small_blocks, 32767);  // 16 bytes: one in 32,768
    count("large", 24, large_blocks, 0);     // 8 MiB: all
    return hand;
  };
  // 10 samples of small blocks against 17, and 2,000 large blocks against 3,000, all of them sampled.
  const HandMadeHeap before = sampled(10 * 32768.0, 2000), after = sampled(17 * 32768.0, 3000);
  const DiffReport report = compare(before.profile, after.profile, model::Metric::kHeapAllocations);
  for (const std::vector<DiffGroup>* groups : {&report.sizes, &report.lifetimes}) {
    ASSERT_EQ(groups->size(), 2u);
    EXPECT_FALSE(groups->front().self.beyond_noise) << groups->front().name;
    EXPECT_TRUE(groups->back().self.beyond_noise) << groups->back().name;
  }
}

// fathom took the side without a leak for a sampled recording with too few samples, and reported no change.
TEST(DiffHeap, ANewLeakInAnExactRecordingIsMoreThanNoise) {
  HandMadeHeap without;
  const auto app = without.module("server", model::ModuleKind::kFile, model::SymbolSource::kDwarf);
  const auto thread = without.thread(without.process(10, "server"), 10, "server");
  const auto put = without.site(without.stack({without.frame(app, {"cache::put"})}), thread);
  HandMadeHeap with = without;
  without.slice();
  without.row(put, {100, 10'000}, {100, 10'000});
  with.slice();
  with.row(put, {100, 10'000}, {97, 9'700});
  for (const model::Metric metric : {model::Metric::kHeapLeaked, model::Metric::kHeapLive}) {
    const DiffReport report = compare(without.profile, with.profile, metric);
    EXPECT_TRUE(report.whole.beyond_noise) << model::to_string(metric);
    EXPECT_EQ(report.whole.fresh, 300);
    EXPECT_TRUE(report.exact);
    EXPECT_TRUE(compare(with.profile, without.profile, metric).whole.beyond_noise);
  }
}

// When recordings differ in length, a leak of the same rate looked as if it had doubled.
TEST(DiffHeap, GrowthWithTimeIsComparedPerSecondAndLiveMemoryIsNot) {
  const HandMadeHeap three = growing(2, 3), six = growing(2, 6);
  const auto normalization = [&](model::Metric metric) {
    return compare(three.profile, six.profile, metric).normalization;
  };
  using model::Metric;
  for (const Metric metric : {Metric::kHeapAllocated, Metric::kHeapAllocations, Metric::kHeapGrowth})
    EXPECT_EQ(normalization(metric), Normalization::kPerSecond) << model::to_string(metric);
  for (const Metric metric : {Metric::kHeapLive, Metric::kHeapPeak, Metric::kHeapLeaked})
    EXPECT_EQ(normalization(metric), Normalization::kAbsolute) << model::to_string(metric);
  EXPECT_FALSE(compare(three.profile, six.profile, Metric::kHeapGrowth).whole.beyond_noise);
}

// "heap bytes never freed 1.3 MiB -> 0 bytes, gone" of a profile that only counts allocations.
TEST(DiffHeap, WhatOneSideDoesNotCountIsNotCompared) {
  HandMadeHeap both = small_heap();
  HandMadeHeap allocations = small_heap();
  model::put_facts(model::ImportFacts{.no_live = true}, allocations.profile.meta);
  for (const auto& [base, fresh, missing] :
       {std::tuple(&both, &allocations, "new"), std::tuple(&allocations, &both, "base")}) {
    DiffRun a = heap_run(base->profile), b = heap_run(fresh->profile);
    a.label = "base";
    b.label = "new";
    for (const model::Metric metric : {model::Metric::kHeapLive, model::Metric::kHeapPeak,
                                       model::Metric::kHeapGrowth, model::Metric::kHeapLeaked}) {
      DiffOptions options;
      options.metric = metric;
      const Result<DiffReport> report = make_diff({a}, {b}, options);
      ASSERT_FALSE(report) << model::to_string(metric);
      EXPECT_EQ(report.error().kind, ErrorKind::kNotFound);
      EXPECT_TRUE(report.error().message.starts_with(missing)) << report.error().message;
    }
    const DiffReport allocated = compare(base->profile, fresh->profile, model::Metric::kHeapAllocated);
    ASSERT_FALSE(allocated.doubts.empty());
    const Doubt& doubt = allocated.doubts.back();
    EXPECT_EQ(doubt.kind, DoubtKind::kUnmeasured);
    EXPECT_EQ(base == &both ? doubt.fresh : doubt.base, "heap-live, heap-peak");
  }
}

// What a program allocates per second on a busy machine is what other programs left to it, as for CPU time.
TEST(DiffHeap, ARatePerSecondOfAStarvedProgramIsComparedWithItsDemand) {
  const auto allocating = [](double times, double waited) {
    HandMadeHeap hand;
    hand.profile.meta.end_ns = hand.profile.meta.start_ns + 3'000'000'000;
    const auto app = hand.module("server");
    const auto thread = hand.thread(hand.process(10, "server"), 10, "server");
    const auto site = hand.site(hand.stack({hand.frame(app, {"parse"})}), thread);
    for (int second = 0; second < 3; ++second) {
      hand.slice();
      hand.row(site, {times * 1000, times * 1e6}, {times * 1000, times * 1e6});
    }
    hand.profile.threads[0].ran_ns = 1'000'000'000;
    hand.profile.threads[0].queued_ns = static_cast<std::uint64_t>(1e9 * waited / (1 - waited));
    return std::move(hand.profile);
  };
  struct Row {
    double base_times, base_waited, new_times, new_waited;
    bool changed;
  };
  for (const Row& row : std::vector<Row>{{1, 0, 2, 0, true},
                                         {1, 0.8, 2, 0, false},   // base wanted up to 5 times as much
                                         {1, 0.1, 2, 0.8, true},  // new wanted even more
                                         {2, 0, 1, 0.8, false},
                                         {2, 0.8, 1, 0.1, true}}) {
    const model::Profile base = allocating(row.base_times, row.base_waited),
                         fresh = allocating(row.new_times, row.new_waited);
    for (const model::Metric metric : {model::Metric::kHeapAllocated, model::Metric::kHeapAllocations}) {
      DiffOptions options;
      options.metric = metric;
      options.normalization = Normalization::kPerSecond;
      const DiffReport report = make_diff({heap_run(base)}, {heap_run(fresh)}, options).value();
      EXPECT_EQ(report.whole.beyond_noise, row.changed) << row.base_waited << " " << row.new_waited;
      EXPECT_EQ(report.rows.front().self.beyond_noise, row.changed) << row.base_waited;
    }
  }
}

}  // namespace
}  // namespace fathom::analysis
