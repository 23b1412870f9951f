#include "record/session/memory/held_memory.h"

#include <gtest/gtest.h>

namespace fathom::session {
namespace {

using allocators::AllocatorState;
using allocators::HeldKind;

AllocatorState state_of(std::string name, std::vector<allocators::HeldRange> ranges,
                        std::uint64_t free_in_live_pages = 0) {
  AllocatorState state;
  state.name = std::move(name);
  state.certainty = allocators::Certainty::kVerified;
  state.ranges = std::move(ranges);
  state.free_in_live_pages = free_in_live_pages;
  return state;
}

sources::ResidentPages five_of_eight_pages() {
  sources::ResidentPages pages;
  pages.add(0x10000, {true, true, true, true, true, false, false, false});
  return pages;
}

TEST(FreeMemory, IsWhatIsResidentOfFreeRangesAndBetweenLiveBlocks) {
  allocators::AllocatorStates states;
  states.allocators = {state_of("glibc",
                                {{0x10000, 0x12000, HeldKind::kLive},
                                 {0x12000, 0x14000, HeldKind::kBins},
                                 {0x14000, 0x18000, HeldKind::kTop}},
                                3000),
                       state_of("jemalloc", {{0x10000, 0x11000, HeldKind::kDirty}})};
  const auto free = free_memory_of(states, five_of_eight_pages());
  EXPECT_EQ(free, (model::FreeBefore{3 * 4096 + 3000 + 4096, "glibc"}));
}

TEST(FreeMemory, IsUnknownWhereTheRecordsAreNotRead) {
  allocators::AllocatorStates states;
  EXPECT_FALSE(free_memory_of(states, five_of_eight_pages()));
  states.allocators = {state_of("glibc", {{0x10000, 0x18000, HeldKind::kBins}})};
  states.allocators[0].certainty = allocators::Certainty::kUnknown;
  EXPECT_FALSE(free_memory_of(states, five_of_eight_pages()));
}

TEST(FreeMemory, RoundTripsAsAFact) {
  std::map<std::string, std::string> facts;
  model::put_free_before(7, {123, "jemalloc of librocksdb.so"}, facts);
  EXPECT_EQ(model::free_before_of(7, facts), (model::FreeBefore{123, "jemalloc of librocksdb.so"}));
  EXPECT_FALSE(model::free_before_of(8, facts));
  for (const char* broken : {"", "12", "x glibc", "-1 glibc"}) {
    facts["free_before.7"] = broken;
    EXPECT_FALSE(model::free_before_of(7, facts)) << broken;
  }
}

}  // namespace
}  // namespace fathom::session
