#include "tools/watch/mappings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::watch {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kMappedPage = 4096;

// `first` and `last` in pages.
WatchedMapping pages_mapped(std::uint64_t first, std::uint64_t last, std::uint64_t resident_pages) {
  WatchedMapping made;
  sources::MemoryMapping& mapping = made.judged.mapping;
  mapping.entry.start = {first * kMappedPage};
  mapping.entry.end = {last * kMappedPage};
  mapping.rss = mapping.anonymous = resident_pages * kMappedPage;
  return made;
}

std::vector<std::uint64_t> start_pages(const std::vector<WatchedMapping>& mappings) {
  std::vector<std::uint64_t> starts;
  for (const WatchedMapping& one : mappings)
    starts.push_back(one.judged.mapping.entry.start.value / kMappedPage);
  return starts;
}

TEST(Mappings, AnAllocatorHasTheResidentPagesOfItsRecords) {
  allocators::AllocatorStates states;
  auto& jemalloc = states.allocators.emplace_back();
  jemalloc.name = "jemalloc";
  jemalloc.certainty = allocators::Certainty::kVerified;
  jemalloc.ranges = {{10 * kMappedPage, 12 * kMappedPage, allocators::HeldKind::kLive},
                     {14 * kMappedPage, 22 * kMappedPage, allocators::HeldKind::kDirty}};
  auto& unknown = states.allocators.emplace_back();
  unknown.name = "other";
  unknown.ranges = {{30 * kMappedPage, 40 * kMappedPage, allocators::HeldKind::kLive}};
  sources::ResidentPages pages;
  pages.add_range(0, 50 * kMappedPage);
  pages.add_run(10 * kMappedPage, 15 * kMappedPage);
  pages.add_run(20 * kMappedPage, 40 * kMappedPage);
  std::vector<WatchedMapping> mappings{pages_mapped(10, 20, 5), pages_mapped(20, 30, 10),
                                       pages_mapped(30, 40, 10)};
  name_allocators(states, pages, mappings);
  EXPECT_EQ(mappings[0].allocator, "jemalloc");
  EXPECT_EQ(mappings[0].allocator_bytes, 3 * kMappedPage) << "10, 11 and 14";
  EXPECT_EQ(mappings[1].allocator_bytes, 2 * kMappedPage) << "20 and 21";
  EXPECT_EQ(mappings[2].allocator, "") << "records that are not understood name nothing";
}

TEST(Mappings, PssAndDirtyPagesComeFromTheSameMappingOfSmaps) {
  std::vector<WatchedMapping> mappings{pages_mapped(1, 3, 2), pages_mapped(5, 6, 1)};
  std::vector<sources::MemoryMapping> smaps{pages_mapped(1, 4, 3).judged.mapping,
                                            pages_mapped(4, 5, 1).judged.mapping};
  smaps[0].proportional = 2 * kMappedPage;
  smaps[0].dirty = kMappedPage;
  add_sharing(smaps, mappings);
  ASSERT_TRUE(mappings[0].sharing);
  EXPECT_EQ(mappings[0].sharing->proportional, 2 * kMappedPage);
  EXPECT_EQ(mappings[0].sharing->dirty, kMappedPage);
  EXPECT_FALSE(mappings[1].sharing);
}

TEST(Mappings, WhatChangedGrewShrankCameOrWent) {
  const std::vector<WatchedMapping> before{pages_mapped(1, 2, 1), pages_mapped(10, 20, 10),
                                           pages_mapped(30, 40, 4), pages_mapped(50, 60, 3),
                                           pages_mapped(70, 71, 0)};
  auto changed = changed_mappings(before, {pages_mapped(1, 2, 1), pages_mapped(8, 20, 12),
                                           pages_mapped(30, 40, 1), pages_mapped(80, 90, 6)});
  sort_mappings(changed, MappingOrder::kAddress);
  EXPECT_THAT(start_pages(changed), ElementsAre(8u, 30u, 50u, 80u)) << "1 is as it was, and 70 had nothing";
  std::vector<std::int64_t> pages;
  for (const WatchedMapping& one : changed)
    pages.push_back(*one.change / static_cast<std::int64_t>(kMappedPage));
  EXPECT_THAT(pages, ElementsAre(2, -3, -3, 6)) << "8 grew downwards";
  EXPECT_EQ(changed[2].judged.mapping.rss, 0u) << "it is gone";
}

TEST(Mappings, AreSortedByAnyColumn) {
  std::vector<WatchedMapping> mappings{pages_mapped(1, 9, 2), pages_mapped(20, 22, 1),
                                       pages_mapped(30, 35, 5)};
  mappings[1].sharing = {9 * kMappedPage, kMappedPage};
  mappings[1].judged.mapping.swap = kMappedPage;
  mappings[1].change = -1000;
  mappings[2].change = 10;
  const auto sorted_by = [&](std::string_view name) {
    auto sorted = mappings;
    sort_mappings(sorted, mapping_order_from(name).value());
    return start_pages(sorted);
  };
  EXPECT_THAT(sorted_by("resident"), ElementsAre(30u, 1u, 20u));
  EXPECT_THAT(sorted_by("virtual"), ElementsAre(1u, 30u, 20u));
  EXPECT_THAT(sorted_by("pss"), ElementsAre(20u, 30u, 1u));
  EXPECT_THAT(sorted_by("swapped"), ElementsAre(20u, 30u, 1u));
  EXPECT_THAT(sorted_by("change"), ElementsAre(20u, 30u, 1u));
  EXPECT_THAT(sorted_by("address"), ElementsAre(1u, 20u, 30u));
  EXPECT_FALSE(mapping_order_from("colour"));
  EXPECT_EQ(names_of_mapping_orders().size(), 8u);
}

}  // namespace
}  // namespace fathom::watch
