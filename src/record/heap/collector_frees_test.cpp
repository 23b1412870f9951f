#include "record/heap/collector.h"

#include <gtest/gtest.h>

#include "record/heap/testing_recording.h"

namespace fathom::sources::heap {
namespace {

// What a test expects of one allocator next to another one.
constexpr std::uint64_t jemalloc(std::uint64_t address) {
  return TRACER_BLOCK(address, 1);
}

struct TwoAllocators : Recording {
  TwoAllocators() {
    collector.allocator(0, SizeRule::kGlibc);
    collector.allocator(1, SizeRule::kJemalloc);
  }
  SiteSummary after(std::uint64_t ms) {
    drain(ms * kMs);
    slice();
    return summary(1);
  }
};

TEST(Collector, FreeWithASizeOfAnotherClassIsBookedAtTheSiteOfTheBlock) {
  TwoAllocators recording;
  auto& tracer = recording.tracer;
  for (std::uint64_t i = 0; i < 4; ++i) tracer.alloc(0, 3 * kMs, jemalloc(0x1000 + 0x1000 * i), 100, 1);
  tracer.free_sized(0, 4 * kMs, jemalloc(0x1000), 100);
  tracer.free_sized(0, 5 * kMs, jemalloc(0x2000), 112);  // the same class, as the allocator sees it
  tracer.free_sized(1, 6 * kMs, jemalloc(0x3000), 113);
  const SiteSummary site = recording.after(10);
  EXPECT_EQ(site.misuse.wrong_size, (Sum{1, 100}));
  EXPECT_EQ(site.misuse.foreign, Sum{});
  EXPECT_EQ(site.live_usable, 112);
  EXPECT_EQ(recording.collector.live(), (Sum{1, 100}));
  EXPECT_EQ(recording.collector.counters().frees, 3u);
  EXPECT_EQ(recording.collector.counters().invalid_frees, 0u);
}

TEST(Collector, OperatorThatOnlyKnowsTheSizeAndTheFreeThatItEndsInAreOneFree) {
  TwoAllocators recording;
  auto& tracer = recording.tracer;
  constexpr auto anybodys = [](std::uint64_t address) { return TRACER_BLOCK(address, TRACER_NO_ALLOCATOR); };
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  tracer.alloc(0, 3 * kMs, 0x2000, 100, 1);
  tracer.alloc(0, 3 * kMs, 0x3000, 100, 1);
  tracer.free_sized(0, 4 * kMs, anybodys(0x1000), 100);
  tracer.free(0, 4 * kMs + 1, 0x1000);
  tracer.free_sized(0, 0, anybodys(0x2000), 200);  // has no time of its own
  tracer.free(0, 5 * kMs + 1, 0x2000);
  tracer.free(0, 6 * kMs, 0x3000);  // by a caller without a size
  const SiteSummary site = recording.after(10);
  EXPECT_EQ(site.misuse.wrong_size, (Sum{1, 100}));
  EXPECT_EQ(recording.collector.live(), Sum{});
  const Counters counters = recording.collector.counters();
  EXPECT_EQ(counters.frees, 3u);
  EXPECT_EQ(counters.unknown_frees, 0u);
  EXPECT_EQ(counters.invalid_frees, 0u);
}

TEST(Collector, SizedFreeThatEndsInAPlainOneOfItsAllocatorIsOneFree) {
  TwoAllocators recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  tracer.free_sized(0, 4 * kMs, 0x1000, 100);
  tracer.free(0, 4 * kMs + 1, 0x1000);
  recording.after(10);
  const Counters counters = recording.collector.counters();
  EXPECT_EQ(counters.frees, 1u);
  EXPECT_EQ(counters.unknown_frees + counters.invalid_frees, 0u);
}

TEST(Collector, FreeThroughAnotherAllocatorEndsTheBlockAndIsBookedAtItsSite) {
  TwoAllocators recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  tracer.free(1, 4 * kMs, jemalloc(0x1000));
  tracer.free(1, 4 * kMs + 1, 0x1000);  // which hands it on to the right one
  const SiteSummary site = recording.after(10);
  EXPECT_EQ(site.misuse.foreign, (Sum{1, 100}));
  EXPECT_EQ(recording.collector.live(), Sum{});
  const Counters counters = recording.collector.counters();
  EXPECT_EQ(counters.foreign_frees, 1u);
  EXPECT_EQ(counters.frees, 1u);
  EXPECT_EQ(counters.unknown_frees + counters.invalid_frees, 0u);
}

TEST(Collector, AllocatorThatWrapsAnotherOneFreesItsOwnBlock) {
  TwoAllocators recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, jemalloc(0x1000), 100, 1);
  tracer.free(0, 4 * kMs, jemalloc(0x1000));
  tracer.free(0, 4 * kMs + 1, 0x1000);
  EXPECT_EQ(recording.after(10).misuse.foreign, Sum{});
  const Counters counters = recording.collector.counters();
  EXPECT_EQ(counters.foreign_frees, 0u);
  EXPECT_EQ(counters.unknown_frees + counters.invalid_frees, 0u);
}

TEST(Collector, BlockThatIsFreedTwiceIsNoEarlierBlock) {
  TwoAllocators recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  tracer.free(0, 4 * kMs, 0x1000);
  tracer.free(0, 5 * kMs, 0x1000);
  tracer.free(1, 6 * kMs, 0x1000);
  tracer.free(1, 7 * kMs, 0x7000);  // was there before us
  tracer.alloc(0, 8 * kMs, 0x1000, 100, 1);
  tracer.free(1, 9 * kMs, 0x1000);  // handed out again
  recording.after(10);
  const Counters counters = recording.collector.counters();
  EXPECT_EQ(counters.invalid_frees, 2u);
  EXPECT_EQ(counters.unknown_frees, 1u);
  EXPECT_EQ(recording.collector.live(), Sum{});
}

// The thread of ring 0 frees a block twice.
struct FreedTwice : Recording {
  FreedTwice() {
    tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
    tracer.free(0, 4 * kMs, 0x1000);
    tracer.free(0, 5 * kMs, 0x1000);
  }
  Sum found() {
    drain(20 * kMs);
    slice();
    return summary(1).misuse.twice;
  }
};

TEST(Collector, ASecondFreeIsBookedAtTheSiteOfTheBlockAsTheThreadAllocatesAgain) {
  FreedTwice recording;
  recording.tracer.alloc(0, 6 * kMs, 0x9000, 10, 2);
  EXPECT_EQ(recording.found(), (Sum{1, 100}));
}

TEST(Collector, ASecondFreeIsBookedOnceHoweverOftenTheThreadAllocates) {
  FreedTwice recording;
  for (std::uint64_t i = 0; i < 5; ++i) recording.tracer.alloc(0, (6 + i) * kMs, 0x9000 + 0x100 * i, 10, 2);
  EXPECT_EQ(recording.found(), (Sum{1, 100}));
}

// glibc frees what is in the cache of a thread that ends.
TEST(Collector, SecondFreesOfAThreadThatAllocatesNothingMoreAreNoError) {
  FreedTwice recording;
  recording.tracer.free(0, 6 * kMs, 0x2000);
  recording.tracer.alloc(1, 7 * kMs, 0x9000, 10, 2);  // by another one
  EXPECT_EQ(recording.found(), Sum{});
}

TEST(Collector, ASecondFreeThatWasTheFreeOfALaterAllocationIsNoError) {
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  tracer.free(0, 4 * kMs, 0x1000);
  tracer.free(0, 5 * kMs, 0x1000);               // is stamped too early
  tracer.alloc(1, 5 * kMs + 1, 0x1000, 100, 1);  // and is of this one
  tracer.alloc(0, 6 * kMs, 0x9000, 10, 2);
  recording.drain(20 * kMs);
  recording.slice();
  EXPECT_EQ(recording.summary(1).misuse.twice, Sum{});
  EXPECT_EQ(recording.collector.counters().early_frees, 1u);
}

}  // namespace
}  // namespace fathom::sources::heap
