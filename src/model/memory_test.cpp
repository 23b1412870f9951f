#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>

#include "model/profile.h"

namespace fathom::model {
namespace {

Profile with_memory() {
  Profile profile;
  Builder builder(profile);
  Process process;
  process.pid = 7;
  profile.processes.push_back(process);
  profile.heap.allocators.push_back({builder.string("glibc"), {0}});
  MemoryRange row;
  row.time_ns = 5;
  row.kind = MemoryKind::kAllocator;
  row.name = builder.string("[heap]");
  row.allocator = {1};
  row.rss_bytes = row.anonymous_bytes = 4096;
  row.live_bytes = row.live_resident_bytes = 100;
  profile.memory_ranges.push_back(row);
  return profile;
}

TEST(Memory, WhatLeadsNowhereIsRefused) {
  ASSERT_TRUE(check(with_memory()));
  const std::vector<std::pair<std::string, std::function<void(MemoryRange&)>>> spoils{
      {"no such process", [](MemoryRange& row) { row.process = {1}; }},
      {"unknown kind", [](MemoryRange& row) { row.kind = static_cast<MemoryKind>(13); }},
      {"no such string", [](MemoryRange& row) { row.name = {3}; }},
      {"no such allocator", [](MemoryRange& row) { row.allocator = {2}; }},
      {"more bytes than there are addresses", [](MemoryRange& row) { row.virtual_bytes = UINT64_MAX; }},
      {"a part that exceeds the whole", [](MemoryRange& row) { row.anonymous_bytes = 4097; }},
      {"a sum that is not a number", [](MemoryRange& row) { row.live_resident_bytes = -1; }},
      {"a sum that is not a number", [](MemoryRange& row) { row.live_resident_variance = NAN; }}};
  for (const auto& [complaint, spoil] : spoils) {
    Profile profile = with_memory();
    spoil(profile.memory_ranges[0]);
    EXPECT_EQ(check(profile).error().message, "memory range 0: " + complaint);
  }
}

TEST(Memory, RowsKeepTheirProcessNameAndAllocatorWhenMerged) {
  Profile into;
  Builder builder(into);
  into.processes.push_back({});
  builder.string("something else");
  into.heap.allocators.push_back({builder.string("jemalloc"), {0}});
  merge(into, with_memory());
  ASSERT_EQ(into.memory_ranges.size(), 1u);
  const MemoryRange& row = into.memory_ranges[0];
  EXPECT_EQ(into.processes[row.process.value].pid, 7);
  EXPECT_EQ(into.strings[row.name], "[heap]");
  EXPECT_EQ(into.strings[into.heap.allocators[row.allocator.value].label], "glibc");
  EXPECT_TRUE(check(into));
}

}  // namespace
}  // namespace fathom::model
