// Whatever range of slices is chosen, the columns of the page add up to what the report's own analysis says of it.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "analysis/core/functions.h"
#include "analysis/core/hand_made_profile.h"
#include "model/random_profile.h"
#include "present/page/cost_table.h"
#include "present/page/fold_calls.h"

namespace fathom::page {
namespace {

using model::Metric;

struct Range {
  std::uint32_t from, to;  // slices
};

analysis::Selection selection_of(const TimeSlices& slices, Metric metric, Range range) {
  analysis::Selection selection;
  selection.metric = metric;
  selection.fold_idle = true;
  selection.fold_containers = true;
  if (range.from > 0) selection.from_ns = slices.edge_ns(range.from);
  if (range.to < slices.count()) selection.to_ns = slices.edge_ns(range.to);
  return selection;
}

std::int64_t sum_of(const CostTable& table, std::size_t cell, Range range) {
  std::int64_t sum = 0;
  for (std::uint32_t i = table.first[cell]; i < table.first[cell + 1]; ++i)
    if (table.slices[i] >= range.from && table.slices[i] < range.to) sum += table.values[i];
  return sum;
}

// By function and module: with all that it calls, each stack once.
std::map<std::string, std::int64_t> totals_of(const CallNodes& calls, const CostTable& table, Range range) {
  std::map<std::string, std::int64_t> totals;
  for (std::size_t cell = 0; cell < table.cells.size(); ++cell) {
    const std::int64_t value = sum_of(table, cell, range);
    std::map<std::uint32_t, bool> met;
    for (std::uint32_t node = table.cells[cell].node; node != 0; node = calls.nodes[node].parent)
      met[calls.nodes[node].place] = true;
    for (const auto& [place, unused] : met) {
      const Place& row = calls.places[place];
      if (row.kind != PlaceKind::kIdle && row.kind != PlaceKind::kCause && value != 0)
        totals[calls.texts.rows()[row.name] + " in " + calls.texts.rows()[row.module]] += value;
    }
  }
  return totals;
}

std::vector<Range> ranges(const TimeSlices& slices, std::mt19937& random) {
  std::vector<Range> out{{0, slices.count()}};
  for (int i = 0; i < 6; ++i) {
    const auto a = static_cast<std::uint32_t>(random() % (slices.count() + 1));
    const auto b = static_cast<std::uint32_t>(random() % (slices.count() + 1));
    if (a != b) out.push_back({std::min(a, b), std::max(a, b)});
  }
  return out;
}

// A second of three threads whose samples and waits lie anywhere, also across edges and on them.
analysis::HandMade busy_profile(std::uint64_t seed) {
  analysis::HandMade hand;
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  const auto process = hand.process(10, "server");
  const auto module = hand.module("server");
  std::vector<model::FrameId> frames;
  for (const char* name : {"main", "serve", "parse", "store", "serve"})
    frames.push_back(hand.frame(module, {name}));
  std::vector<model::ThreadId> threads;
  for (int tid = 10; tid < 13; ++tid)
    threads.push_back(hand.thread(process, tid, tid == 10 ? "main" : "worker"));
  for (int i = 0; i < 400; ++i) {
    std::vector<model::FrameId> stack;
    for (std::size_t depth = random() % 6; depth > 0; --depth)
      stack.push_back(frames[random() % frames.size()]);
    const model::StackId id = hand.stack(stack);
    const std::uint64_t at = hand.profile.meta.start_ns + random() % 10'000 * 1'000'000 + random() % 3;
    if (i % 2 == 0) {
      model::Sample sample;
      sample.time_ns = at;
      sample.value = static_cast<std::int64_t>(random() % 3 + 1);
      sample.thread = threads[random() % threads.size()];
      sample.stack = id;
      hand.profile.samples.push_back(sample);
    } else {
      model::Wait wait;
      wait.start_ns = at;
      wait.waited_ns = random() % 700'000'000;
      wait.queued_ns = random() % 3'000'000;
      wait.weight = random() % 4 + 1;
      wait.thread = threads[random() % threads.size()];
      wait.stack = id;
      hand.profile.waits.push_back(wait);
    }
  }
  return hand;
}

void expect_equal_sums(const model::Profile& profile, std::uint32_t seed, bool fold) {
  std::mt19937 random(seed);
  const TimeSlices slices(profile.meta.start_ns, profile.meta.end_ns, 300);
  CallNodes calls(profile);
  Costs costs = add_up_costs(profile, slices, calls);
  if (fold) fold_small_calls(calls, costs, 0.2);
  for (const CostTable& table : costs.tables) {
    for (const Range range : ranges(slices, random)) {
      SCOPED_TRACE(std::string(model::to_string(table.metric)) + " from slice " + std::to_string(range.from) +
                   " to " + std::to_string(range.to));
      const analysis::CallTree tree =
          analysis::build_call_tree(profile, {.selection = selection_of(slices, table.metric, range)});
      std::int64_t total = 0;
      for (std::size_t cell = 0; cell < table.cells.size(); ++cell) total += sum_of(table, cell, range);
      EXPECT_EQ(total, tree.total);
      if (fold) continue;
      std::map<std::string, std::int64_t> expected;
      for (const analysis::FunctionRow& row : analysis::function_table(tree, analysis::SortBy::kTotal)) {
        const bool is_code = row.kind != analysis::NodeKind::kThread &&
                             row.kind != analysis::NodeKind::kCause && row.kind != analysis::NodeKind::kRoot;
        if (is_code && row.total != 0)
          expected[tree.names[row.name] + " in " + tree.modules[row.module].name] = row.total;
      }
      EXPECT_EQ(totals_of(calls, table, range), expected);
    }
  }
}

TEST(PageSums, AreThoseOfTheReportInAnyRange) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_equal_sums(busy_profile(seed).profile, static_cast<std::uint32_t>(seed), false);
  }
}

TEST(PageSums, StayWholeWhenSmallCallsAreFolded) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_equal_sums(busy_profile(seed).profile, static_cast<std::uint32_t>(seed), true);
  }
}

TEST(PageSums, FoldingLeavesTheLargeCalls) {
  const analysis::HandMade hand = busy_profile(1);
  const TimeSlices slices(hand.profile.meta.start_ns, hand.profile.meta.end_ns, 300);
  CallNodes calls(hand.profile);
  Costs costs = add_up_costs(hand.profile, slices, calls);
  const std::size_t before = calls.nodes.size();
  const std::uint32_t folded = fold_small_calls(calls, costs, 0.05);
  EXPECT_GT(folded, 0u);
  EXPECT_LT(calls.nodes.size(), before);
  for (std::uint32_t i = 1; i < calls.nodes.size(); ++i) EXPECT_LT(calls.nodes[i].parent, i);
}

// What was allocated and is live of a site, over windows that begin and end inside of a slice of the heap, too.
TEST(PageSums, OfTheHeapAreThoseOfTheReport) {
  analysis::HandMade hand;
  std::mt19937 random(7);
  const auto process = hand.process(10, "server");
  const auto thread = hand.thread(process, 10, "main");
  const auto module = hand.module("server");
  const auto allocator = hand.module("libc.so.6");
  model::Heap heap;
  heap.process = process;
  heap.start_ns = hand.profile.meta.start_ns;
  heap.end_ns = hand.profile.meta.end_ns;
  hand.profile.heap.heaps.push_back(heap);
  const auto top = hand.frame(module, {"main"}), malloc = hand.frame(allocator, {"malloc"});
  for (const char* name : {"parse", "store", "cache"})
    hand.profile.heap.sites.push_back(
        {{0}, hand.stack({top, hand.frame(module, {name}), malloc}), {0}, thread, 0});
  std::vector<double> live(3);
  for (std::uint32_t i = 0; i < 10; ++i) {
    model::HeapSlice slice;
    slice.start_ns = heap.start_ns + i * 1'000'000'000ull;
    slice.end_ns = slice.start_ns + 1'000'000'000;
    if (i == 0) {  // what was live when the recording began
      slice.end_ns = slice.start_ns;
      slice.start_ns -= 500'000'000;
    }
    hand.profile.heap.slices.push_back(slice);
    for (std::uint32_t site = 0; site < 3; ++site) {
      model::HeapRow row;
      row.slice = {i};
      row.site = {site};
      row.allocated = {static_cast<double>(random() % 50) + 0.25,
                       static_cast<double>(random() % 100'000) + 0.5};
      row.freed = {0, std::floor(live[site] * static_cast<double>(random() % 100) / 100)};
      live[site] += row.allocated.bytes - row.freed.bytes;
      hand.profile.heap.rows.push_back(row);
    }
  }
  const TimeSlices slices(hand.profile.meta.start_ns, hand.profile.meta.end_ns, 300);
  CallNodes calls(hand.profile);
  const Costs costs = add_up_costs(hand.profile, slices, calls);
  ASSERT_TRUE(costs.has_heap);
  for (const Range range : ranges(slices, random)) {
    SCOPED_TRACE("from slice " + std::to_string(range.from) + " to " + std::to_string(range.to));
    double allocated = 0, left = 0;
    const auto from = static_cast<std::int32_t>(range.from), to = static_cast<std::int32_t>(range.to);
    for (std::size_t cell = 0; cell < costs.heap.cells.size(); ++cell) {
      for (std::uint32_t i = costs.heap.first[cell]; i < costs.heap.first[cell + 1]; ++i) {
        const HeapEntry& entry = costs.heap.entries[i];
        if (entry.slice >= from && entry.slice < to) allocated += entry.allocated.bytes;
        if (entry.slice < to) left += entry.allocated.bytes - entry.freed.bytes;
      }
    }
    const auto total = [&](Metric metric) {
      return analysis::build_call_tree(hand.profile, {.selection = selection_of(slices, metric, range)})
          .total;
    };
    EXPECT_EQ(std::llround(allocated), total(Metric::kHeapAllocated));
    EXPECT_EQ(std::llround(left), total(Metric::kHeapLive));
  }
}

// What the page relies on to be fast: what lies below a call stands side by side, cells too, each slice of a cell once.
TEST(PageSums, StandInTheOrderOfAWalk) {
  const model::Profile profile = busy_profile(3).profile;
  const TimeSlices slices(profile.meta.start_ns, profile.meta.end_ns, 20);
  CallNodes calls(profile);
  const Costs costs = add_up_costs(profile, slices, calls);
  ASSERT_GT(calls.nodes.size(), 10u);
  for (std::uint32_t i = 1; i < calls.nodes.size(); ++i) {
    std::uint32_t up = i - 1;
    while (up != 0 && up != calls.nodes[i].parent) up = calls.nodes[up].parent;
    EXPECT_EQ(up, calls.nodes[i].parent)
        << "node " << i << " is not below the one before or one of its callers";
  }
  ASSERT_FALSE(costs.tables.empty());
  for (const CostTable& table : costs.tables) {
    for (std::size_t i = 0; i + 1 < table.cells.size(); ++i)
      EXPECT_LT(std::pair(table.cells[i].thread, table.cells[i].node),
                std::pair(table.cells[i + 1].thread, table.cells[i + 1].node));
    for (std::size_t i = 0; i < table.cells.size(); ++i)
      for (std::uint32_t at = table.first[i]; at + 1 < table.first[i + 1]; ++at)
        EXPECT_LT(table.slices[at], table.slices[at + 1]);
  }
}

// Every table filled, extreme numbers in: nothing of it may stop the page.
TEST(PageSums, AnyProfileHasCosts) {
  model::for_each_profile(60, [](const model::Profile& profile) {
    const TimeSlices slices(profile.meta.start_ns, profile.meta.end_ns, 50);
    CallNodes calls(profile);
    const Costs costs = add_up_costs(profile, slices, calls);
    for (const CostTable& table : costs.tables) {
      ASSERT_EQ(table.first.size(), table.cells.size() + 1);
      ASSERT_EQ(table.first.back(), table.slices.size());
      for (const std::uint32_t slice : table.slices) ASSERT_LT(slice, slices.count());
      for (const Cell& cell : table.cells) ASSERT_LT(cell.node, calls.nodes.size());
    }
  });
}

}  // namespace
}  // namespace fathom::page
