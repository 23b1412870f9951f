#include "analysis/heap/heap_blocks.h"

#include <gtest/gtest.h>

namespace fathom::analysis {
namespace {

using namespace model;

// Two threads that have a function each.
Profile two_functions() {
  Profile profile;
  Builder builder(profile);
  profile.meta.start_ns = 1'000'000'000;
  profile.processes.emplace_back().pid = 7;
  for (const auto* name : {"main", "worker"}) {
    const auto number = static_cast<std::uint32_t>(profile.threads.size());
    Thread& thread = profile.threads.emplace_back();
    thread.tid = 7 + static_cast<std::int32_t>(number);
    thread.name = builder.string(name);
    const FrameId frame = builder.frame({0}, {0x10 * (number + 1)});
    builder.name_frame(frame, {{number == 0 ? "load" : "serve", "", 0}});
    const StackId stack = builder.stack({0}, frame);
    profile.heap.sites.push_back({{0}, stack, {0}, {number}, 1});
  }
  profile.heap.heaps.emplace_back().end_ns = 11'000'000'000;
  return profile;
}
HeapBlock block(std::uint32_t site, std::uint64_t size, std::uint64_t allocated_s) {
  HeapBlock made;
  made.site = {site};
  made.address = 0x1000;
  made.size = size;
  made.allocated_ns = allocated_s * 1'000'000'000;
  return made;
}

TEST(HeapBlocks, AreNamedAndTheLargestComeFirst) {
  Profile profile = two_functions();
  profile.heap.blocks = {block(0, 10, 2), block(1, 500, 4)};
  profile.heap.blocks.push_back(block(1, 20, 3));
  profile.heap.blocks[2].last_slice = 0;
  profile.heap.blocks[2].lifetime_ns = 500'000'000;
  const auto rows = heap_blocks(profile, {});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].size, 500u);
  EXPECT_EQ(rows[0].function, "serve");
  EXPECT_EQ(rows[0].thread, "worker");
  EXPECT_DOUBLE_EQ(rows[0].allocated_s, 3);
  EXPECT_DOUBLE_EQ(rows[0].age_s, 7);
  EXPECT_FALSE(rows[0].freed_s);
  EXPECT_DOUBLE_EQ(rows[1].age_s, 0.5);
  EXPECT_DOUBLE_EQ(*rows[1].freed_s, 2.5);
  const auto oldest = oldest_first(rows, 2);
  ASSERT_EQ(oldest.size(), 2u);
  EXPECT_EQ(oldest[0].size, 10u);
  EXPECT_EQ(oldest[1].size, 20u);
}

TEST(HeapBlocks, OfOneThreadOnly) {
  Profile profile = two_functions();
  profile.heap.blocks = {block(0, 10, 2), block(1, 500, 4)};
  Selection selection;
  selection.thread = "main";
  const auto rows = heap_blocks(profile, selection);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].function, "load");
}

TEST(HeapBlocks, ASampledBlockStandsForOthers) {
  Profile profile = two_functions();
  profile.heap.blocks = {block(0, 100, 2)};
  profile.heap.blocks[0].mean_bytes = 1'000'000;
  EXPECT_NEAR(heap_blocks(profile, {})[0].stands_for, 10'000, 1);
}

}  // namespace
}  // namespace fathom::analysis
