#include "record/heap/collector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "record/heap/testing_tracer.h"

namespace fathom::record::heap {
namespace {

// A tracer, a collector, and a clock on which one tick is one nanosecond.
struct Recording {
  explicit Recording(const CollectorOptions& options = {}, std::uint32_t rings = 2)
      : tracer(rings, 1u << 16), collector(Collector::create(tracer.memory(), at(0), options).value()) {
    tracer.thread(0, 1, 100);
    tracer.thread(1, 1, 101);
    tracer.stack(0, 1, 1, {0x10, 0x100});
    tracer.stack(0, 1, 2, {0x20, 0x100});
    drain(2'000'000);
  }
  static Moment at(std::uint64_t ticks) { return {FakeTracer::kBase + ticks, FakeTracer::kBase + ticks}; }
  Round drain(std::uint64_t ticks) { return collector.drain(at(ticks)); }
  // The site of a stack, whatever the thread.
  Sum allocated(const Slice& slice, std::uint32_t stack) {
    Sum sum;
    for (const SliceRow& row : slice.rows)
      if (sites[row.site].stack == stack) sum.add(row.sums.allocated);
    return sum;
  }
  Slice slice() {
    Slice made = *collector.slice(true);
    EXPECT_EQ(made.first_new_site, sites.size());
    sites.insert(sites.end(), made.new_sites.begin(), made.new_sites.end());
    return made;
  }
  SiteSummary summary(std::uint32_t stack) {
    for (SiteSummary& row : collector.summary().sites)
      if (collector_key(row.site).stack == stack) return row;
    return {};
  }
  SiteKey collector_key(std::uint32_t site) { return sites.at(site); }

  FakeTracer tracer;
  Collector collector;
  std::vector<SiteKey> sites;
};

constexpr std::uint64_t kMs = 1'000'000;

TEST(Collector, BlocksBelongToTheirSiteUntilTheyAreFreed) {
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  tracer.alloc(0, 4 * kMs, 0x2000, 50, 2);
  tracer.free(1, 9 * kMs, 0x1000);  // by another thread
  recording.drain(10 * kMs);
  const Slice slice = recording.slice();
  EXPECT_EQ(slice.live, (Sum{1, 50}));
  ASSERT_EQ(slice.rows.size(), 2u);
  EXPECT_EQ(slice.rows[0].sums.allocated, (Sum{1, 100}));
  EXPECT_EQ(slice.rows[0].sums.freed, (Sum{1, 100}));
  EXPECT_EQ(slice.rows[1].sums.freed, Sum{});
  EXPECT_EQ(recording.sites[slice.rows[0].site], (SiteKey{1, 100, 0}));
}

TEST(Collector, StackIsToldOnceHoweverManyNumbersItHas) {
  Recording recording;
  recording.tracer.stack(1, 3 * kMs, 3, {0x10, 0x100});  // the content of number 1
  recording.tracer.stack(1, 3 * kMs, 4, {0x30, 0x100}, WALK_NO_RULE);
  recording.tracer.alloc(1, 4 * kMs, 0x1000, 10, 3);
  recording.tracer.alloc(1, 4 * kMs, 0x2000, 10, 4);
  const Round round = recording.drain(5 * kMs);
  ASSERT_EQ(round.stacks.size(), 1u);
  EXPECT_EQ(round.stacks[0].stack, 3u);
  EXPECT_EQ(round.stacks[0].addresses, (std::vector<std::uint64_t>{0x30, 0x100}));
  EXPECT_EQ(recording.slice().new_sites.size(), 3u);
  EXPECT_EQ(recording.sites[1], (SiteKey{1, 101, 0}));
  EXPECT_EQ(recording.collector.counters().incomplete, 1u);
}

TEST(Collector, SameAddressesUnderOtherMappingsAreAnotherStack) {
  Recording recording;
  recording.tracer.shared().table_epoch = 1;
  recording.tracer.stack(1, 3 * kMs, 3, {0x10, 0x100});
  EXPECT_EQ(recording.drain(5 * kMs).stacks.size(), 1u);
}

TEST(Collector, OlderFreeOfAnotherThreadDoesNotKillTheNewBlock) {
  // Thread 0 moves a block from 0x1000 by realloc. While it is inside, thread 1 is handed 0x1000, and writes
  // that first.
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  tracer.realloc(0, 8 * kMs, 0x1000, 5 * kMs, 0x2000, 300, 1);
  tracer.alloc(1, 7 * kMs, 0x1000, 40, 2);
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.collector.live(), (Sum{2, 340}));
  EXPECT_EQ(recording.collector.counters().unseen_frees, 0u);
  EXPECT_EQ(recording.collector.counters().late_frees, 1u);
}

TEST(Collector, AddressThatIsHandedOutAgainWasFreedUnseen) {
  Recording recording;
  recording.tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  recording.tracer.alloc(0, 5 * kMs, 0x1000, 40, 2);
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.collector.live(), (Sum{1, 40}));
  EXPECT_EQ(recording.collector.counters().unseen_frees, 1u);
}

TEST(Collector, FreeOfABlockFromBeforeTheAttachIsCountedAndChangesNothing) {
  Recording recording;
  recording.tracer.free(0, 3 * kMs, 0x1000);
  recording.tracer.realloc(0, 5 * kMs, 0x5000, 4 * kMs, 0x6000, 10, 1);
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.collector.live(), (Sum{1, 10}));
  EXPECT_EQ(recording.collector.counters().unknown_frees, 2u);
}

TEST(Collector, ReallocToNothingFreesAndReallocOfNothingAllocates) {
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.realloc(0, 3 * kMs, 0, 3 * kMs, 0x1000, 10, 1);
  recording.drain(4 * kMs);
  EXPECT_EQ(recording.collector.live(), (Sum{1, 10}));
  tracer.realloc(0, 6 * kMs, 0x1000, 5 * kMs, 0, 0, 1);
  recording.drain(7 * kMs);
  EXPECT_EQ(recording.collector.live(), Sum{});
}

TEST(Collector, BlockThatGrowsInPlaceIsAllocatedWhereItGrew) {
  Recording recording;
  recording.tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  recording.tracer.alloc(0, 4 * kMs, 0x1000, 150, 2, TRACER_EVENT_RESIZE);
  recording.drain(10 * kMs);
  const Slice slice = recording.slice();
  EXPECT_EQ(slice.live, (Sum{1, 150}));
  EXPECT_EQ(recording.allocated(slice, 2), (Sum{1, 150}));
  EXPECT_EQ(recording.collector.counters().unseen_frees, 0u);
}

TEST(Collector, SameAddressOfTwoAllocatorsAreTwoBlocks) {
  Recording recording;
  recording.tracer.alloc(0, 3 * kMs, TRACER_BLOCK(0x1000, 0), 100, 1);
  recording.tracer.alloc(0, 4 * kMs, TRACER_BLOCK(0x1000, 1), 50, 1);
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.collector.live(), (Sum{2, 150}));
  recording.slice();
  EXPECT_EQ(recording.sites.size(), 3u);  // site 0 and one per allocator
}

TEST(Collector, TemporaryIsWhatItsThreadFreesBeforeItAllocatesAgain) {
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);  // temporary, though thread 1 allocates meanwhile
  tracer.alloc(1, 4 * kMs, 0x2000, 10, 2);
  tracer.free(0, 5 * kMs, 0x1000);
  tracer.alloc(0, 6 * kMs, 0x3000, 100, 1);  // not: another one comes in between
  tracer.alloc(0, 7 * kMs, 0x4000, 100, 1);
  tracer.free(0, 8 * kMs, 0x3000);
  tracer.free(0, 9 * kMs, 0x2000);  // not: another thread's
  recording.drain(10 * kMs);
  const Slice slice = recording.slice();
  EXPECT_EQ(slice.rows[0].sums.temporary, (Sum{1, 100}));
  EXPECT_EQ(slice.rows[1].sums.temporary, Sum{});
}

TEST(Collector, BriefIsWhatLivesLessThanAMillisecond) {
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 7, 1);
  tracer.free(0, 4 * kMs - 1, 0x1000);
  tracer.alloc(0, 5 * kMs, 0x1000, 9, 1);
  tracer.free(0, 6 * kMs, 0x1000);
  recording.drain(10 * kMs);
  const Slice slice = recording.slice();
  EXPECT_EQ(slice.rows[0].sums.brief, (Sum{1, 7}));
  const SiteSummary summary = recording.summary(1);
  ASSERT_EQ(summary.lifetimes_ns.size(), 1u);  // both of 2^19 ns up to 2^20
  EXPECT_EQ(summary.lifetimes_ns[0].bucket, 20);
  EXPECT_EQ(summary.longest_ns, kMs);
  ASSERT_EQ(summary.sizes.size(), 2u);
  EXPECT_EQ(summary.sizes[0].bucket, 3);  // 7: 4 up to 8
  EXPECT_EQ(summary.sizes[1].bucket, 4);
}

TEST(Collector, PeakIsExactBetweenTwoSlicesAndSaysOfWhatItWas) {
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  tracer.alloc(0, 4 * kMs, 0x2000, 1000, 2);  // the peak: 1100
  tracer.free(0, 5 * kMs, 0x2000);
  tracer.alloc(0, 6 * kMs, 0x3000, 500, 1);
  recording.drain(10 * kMs);
  const Slice slice = recording.slice();
  EXPECT_EQ(slice.peak_bytes, 1100);
  EXPECT_NEAR(static_cast<double>(slice.peak_ns), static_cast<double>(FakeTracer::kBase + 4 * kMs), 2);
  EXPECT_EQ(slice.live, (Sum{2, 600}));
  EXPECT_EQ(recording.summary(1).peak, (Sum{1, 100}));
  EXPECT_EQ(recording.summary(2).peak, (Sum{1, 1000}));
  EXPECT_EQ(recording.collector.summary().peak, (Sum{2, 1100}));
}

TEST(Collector, PeakHoldsWhatAnotherThreadAllocatesDuringABriefLife) {
  Recording recording;
  auto& tracer = recording.tracer;
  tracer.alloc(0, 3 * kMs, 0x1000, 100, 1);
  tracer.alloc(1, 3 * kMs + 5, 0x2000, 50, 2);
  tracer.free(0, 3 * kMs + 9, 0x1000);
  tracer.alloc(0, 4 * kMs, 0x1000, 120, 1);  // alone, beside 50
  tracer.free(0, 4 * kMs + 9, 0x1000);
  recording.drain(5 * kMs);
  const Slice slice = recording.slice();
  EXPECT_EQ(slice.peak_bytes, 170);
  EXPECT_EQ(slice.peak_ns, FakeTracer::kBase + 4 * kMs);
  EXPECT_EQ(recording.summary(1).peak, (Sum{1, 120}));
  EXPECT_EQ(recording.summary(2).peak, (Sum{1, 50}));
}

TEST(Collector, SampleStandsForAsManyBlocksAsItsSizeWasUnlikely) {
  Recording recording;
  recording.tracer.sample(0, 3 * kMs, 0x1000, 512, 1, 4096);
  recording.drain(10 * kMs);
  const double seen = 1 - std::exp(-512.0 / 4096);
  const Slice slice = recording.slice();
  EXPECT_DOUBLE_EQ(slice.live.blocks, 1 / seen);
  EXPECT_DOUBLE_EQ(slice.live.bytes, 512 / seen);
  ASSERT_EQ(slice.rows.size(), 1u);
  EXPECT_NEAR(slice.rows[0].allocated_variance.bytes, (1 - seen) / (seen * seen) * 512 * 512, 1);
  recording.tracer.free(0, 12 * kMs, 0x1000);
  recording.drain(20 * kMs);
  EXPECT_EQ(recording.slice().rows[0].freed_variance, slice.rows[0].allocated_variance);
  EXPECT_NEAR(recording.collector.live().bytes, 0, 1e-9);
}

TEST(Collector, SlicesFollowEachOtherAndGetLonger) {
  CollectorOptions options;
  options.first_slice_ns = 10 * kMs;
  options.slices_per_length = 2;
  Recording recording(options);
  std::vector<std::uint64_t> lengths;
  std::uint64_t end = FakeTracer::kBase;
  for (std::uint64_t time = 5; time <= 100; time += 5) {
    recording.drain(time * kMs);
    const auto slice = recording.collector.slice();
    if (!slice) continue;
    EXPECT_EQ(slice->start_ns, end);
    end = slice->end_ns;
    lengths.push_back((slice->end_ns - slice->start_ns) / kMs);
  }
  EXPECT_EQ(lengths, (std::vector<std::uint64_t>{10, 10, 20, 20, 40}));
}

TEST(Collector, SlicesOfManySitesGetLongerSoonerAsLongAsTheyAreShort) {
  CollectorOptions options;
  options.first_slice_ns = 250 * kMs;
  options.rows_per_length = 8;  // 2 below a second
  Recording recording(options);
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t time = 250; time <= 10'000; time += 250) {
    recording.tracer.alloc(0, time * kMs, 0x1000 + 16 * time, 8);
    recording.drain(time * kMs);
    if (const auto slice = recording.collector.slice())
      lengths.push_back((slice->end_ns - slice->start_ns) / kMs);
  }
  EXPECT_EQ(lengths,
            (std::vector<std::uint64_t>{250, 250, 500, 500, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}));
}

// What a test expects of one allocator beside another one.
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
  tracer.free(0, 6 * kMs, 0x3000);  // by somebody who knows no size
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

TEST(Collector, BeyondTheMostSitesAllIsStillCounted) {
  CollectorOptions options;
  options.max_sites = 32;
  Recording recording(options);
  for (std::uint32_t i = 0; i < 100; ++i) {
    recording.tracer.stack(0, 3 * kMs, 10 + i, {0x1000 + i, 0x100});
    recording.tracer.alloc(0, 3 * kMs, 0x10000 + i * 16, 10, 10 + i);
  }
  recording.drain(10 * kMs);
  const Slice slice = recording.slice();
  Sum sum;
  for (const SliceRow& row : slice.rows) sum.add(row.sums.allocated);
  EXPECT_EQ(sum, (Sum{100, 1000}));
  EXPECT_LE(recording.sites.size(), 32u);
  EXPECT_GT(recording.collector.counters().merged, 60u);
}

// The same, written as simply as possible: what happens in the order in which it happened, with a map.
class Model {
 public:
  struct Block {
    std::uint64_t size;
    std::uint32_t stack;
  };
  void allocate(std::uint64_t address, std::uint64_t size, std::uint32_t stack) {
    blocks[address] = {size, stack};
    allocated[stack].add({1, static_cast<double>(size)});
    live.add({1, static_cast<double>(size)});
    at_stack[stack].add({1, static_cast<double>(size)});
    if (live.bytes <= peak.bytes) return;
    peak = live;
    peak_of = at_stack;
  }
  void free(std::uint64_t address) {
    const auto found = blocks.find(address);
    if (found == blocks.end()) {
      ++unknown;
      return;
    }
    const Sum sum{1, static_cast<double>(found->second.size)};
    freed[found->second.stack].add(sum);
    at_stack[found->second.stack].subtract(sum);
    live.subtract(sum);
    blocks.erase(found);
  }
  std::map<std::uint64_t, Block> blocks;
  std::map<std::uint32_t, Sum> allocated, freed, at_stack, peak_of;
  Sum live, peak;
  std::uint64_t unknown = 0;
};

// Threads that allocate, free each other's blocks and move them, in an order that the tracer could have seen:
// a free is stamped before its block is handed out again, wherever its record stands by then.
TEST(Collector, CountsWhatASimpleModelCountsInAnyOrderOfRings) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    CollectorOptions options;
    options.seed = seed;
    options.by_thread = random() % 2 == 0;
    constexpr std::uint32_t kRings = 4;
    Recording recording(options, kRings);
    Model model;
    std::uint64_t time = 3 * kMs;
    std::map<std::uint32_t, Sum> allocated, freed;
    const auto close = [&] {
      recording.drain(time);
      for (const SliceRow& row : recording.slice().rows) {
        allocated[recording.sites[row.site].stack].add(row.sums.allocated);
        freed[recording.sites[row.site].stack].add(row.sums.freed);
      }
    };
    for (int i = 0; i < 3000; ++i) {
      time += 1 + random() % 1000;
      const auto ring = static_cast<std::uint32_t>(random() % kRings);
      const auto stack = static_cast<std::uint32_t>(1 + random() % 2);
      const std::uint64_t address = 16 * (1 + random() % 200);
      const std::uint64_t size = random() % 3000;
      const bool live = model.blocks.count(address) != 0;
      switch (random() % 4) {
        case 0:
        case 1:
          if (live) break;  // an allocator does not hand out what is in use
          recording.tracer.alloc(ring, time, address, size, stack);
          model.allocate(address, size, stack);
          break;
        case 2:
          recording.tracer.free(ring, time, address);
          model.free(address);
          break;
        default: {
          const std::uint64_t to = 16 * (1 + random() % 200);
          if (to != address && model.blocks.count(to) != 0) break;
          recording.tracer.realloc(ring, time + 1, address, time, to, static_cast<std::uint32_t>(size),
                                   stack);
          ++time;
          model.free(address);
          model.allocate(to, size, stack);
        }
      }
      if (random() % 200 == 0) close();
    }
    close();
    EXPECT_EQ(recording.collector.live(), model.live);
    EXPECT_EQ(allocated, model.allocated);
    for (const auto& [stack, sum] : freed) EXPECT_EQ(sum, model.freed[stack]);
    const Counters counters = recording.collector.counters();
    EXPECT_EQ(counters.unknown_frees + counters.invalid_frees, model.unknown);
    EXPECT_EQ(recording.collector.counters().unseen_frees, 0u);
    EXPECT_EQ(recording.collector.summary().peak, model.peak);
    std::map<std::uint32_t, Sum> peak_of;
    for (const SiteSummary& row : recording.collector.summary().sites)
      peak_of[recording.sites[row.site].stack].add(row.peak);
    for (const auto& [stack, sum] : model.peak_of) EXPECT_EQ(peak_of[stack], sum);
    std::map<std::uint64_t, std::uint64_t> blocks, expected;
    recording.collector.for_each_live(
        [&](std::uint64_t address, const LiveBlock& block) { blocks[address] = block.size; });
    for (const auto& [address, block] : model.blocks) expected[address] = block.size;
    EXPECT_EQ(blocks, expected);
  }
}

// A collector that tells the life of every block follows each of them; one that does not adds up short-lived
// blocks without. Both are told the same: pairs of each kind, threads that free each other's blocks, frees
// that nobody sees, blocks freed twice, by another allocator and with the wrong size.
TEST(Collector, ShortLivedBlocksCountAsIfTheyWereFollowed) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    CollectorOptions each;
    each.each_block = true;
    Recording followed(each), summed;
    const auto both = [&](const auto& act) {
      act(followed.tracer);
      act(summed.tracer);
    };
    std::uint64_t ticks = 3 * kMs;
    const std::uint64_t addresses = 2 + seed % 7;
    for (int i = 0; i < 600; ++i) {
      ticks += random() % (seed % 2 == 0 ? 100 : 100'000);
      const auto ring = static_cast<std::uint32_t>(random() % 2);
      const std::uint64_t block = TRACER_BLOCK(0x1000 * (1 + random() % addresses), random() % 16 / 15);
      const std::uint64_t size = random() % 64;
      const auto stack = static_cast<std::uint32_t>(random() % 3);
      const std::uint64_t what = random() % 16;
      if (what < 8) {
        both([&](FakeTracer& tracer) { tracer.alloc(ring, ticks, block, size, stack); });
        if (what < 6) {
          ticks += random() % 2'000;
          const auto claimed = TRACER_BLOCK(TRACER_BLOCK_ADDRESS(block), TRACER_NO_ALLOCATOR);
          if (what == 0)
            both([&](FakeTracer& tracer) { tracer.free_sized(ring, ticks, claimed, size + i % 3 / 2); });
          if (what == 1)
            both([&](FakeTracer& tracer) { tracer.free_sized(ring, ticks, block, size + i % 2); });
          else
            both([&](FakeTracer& tracer) { tracer.free(ring, ticks, block); });
        }
      } else if (what < 14) {
        both([&](FakeTracer& tracer) { tracer.free(ring, ticks, block); });
      } else if (what == 14) {
        const std::uint64_t moved = 0x1000 * (1 + random() % addresses);
        both([&](FakeTracer& tracer) {
          tracer.realloc(ring, ticks, block, ticks - 1, moved, static_cast<std::uint32_t>(size), stack);
        });
      }
      if (random() % 50 == 0) {
        followed.drain(ticks);
        summed.drain(ticks);
      }
    }
    followed.drain(ticks + kMs);
    summed.drain(ticks + kMs);
    EXPECT_EQ(summed.collector.counters(), followed.collector.counters()) << seed;
    const Slice expected = followed.slice(), slice = summed.slice();
    EXPECT_EQ(slice.live, expected.live) << seed;
    EXPECT_EQ(slice.peak_bytes, expected.peak_bytes) << seed;
    EXPECT_EQ(slice.peak_ns, expected.peak_ns) << seed;
    ASSERT_EQ(slice.rows.size(), expected.rows.size()) << seed;
    for (std::size_t i = 0; i < slice.rows.size(); ++i) {
      EXPECT_EQ(slice.rows[i].sums.allocated, expected.rows[i].sums.allocated) << seed;
      EXPECT_EQ(slice.rows[i].sums.freed, expected.rows[i].sums.freed) << seed;
      EXPECT_EQ(slice.rows[i].sums.temporary, expected.rows[i].sums.temporary) << seed;
      EXPECT_EQ(slice.rows[i].sums.brief, expected.rows[i].sums.brief) << seed;
    }
    const Summary all = followed.collector.summary(), summary = summed.collector.summary();
    EXPECT_EQ(summary.peak, all.peak) << seed;
    ASSERT_EQ(summary.sites.size(), all.sites.size()) << seed;
    for (std::size_t i = 0; i < summary.sites.size(); ++i) {
      EXPECT_EQ(summary.sites[i].peak, all.sites[i].peak) << seed;
      EXPECT_EQ(summary.sites[i].longest_ns, all.sites[i].longest_ns) << seed;
      EXPECT_EQ(summary.sites[i].misuse.wrong_size, all.sites[i].misuse.wrong_size) << seed;
      EXPECT_EQ(summary.sites[i].misuse.foreign, all.sites[i].misuse.foreign) << seed;
      ASSERT_EQ(summary.sites[i].lifetimes_ns.size(), all.sites[i].lifetimes_ns.size()) << seed;
      for (std::size_t j = 0; j < all.sites[i].lifetimes_ns.size(); ++j)
        EXPECT_EQ(summary.sites[i].lifetimes_ns[j].sum, all.sites[i].lifetimes_ns[j].sum) << seed;
    }
  }
}

TEST(Collector, EstimatesOfSamplesAreUnbiasedAndTheirIntervalHoldsTheTruth) {
  // 100 runs of the same program, each sampled as the tracer does it: by a countdown of bytes that is drawn
  // from the exponential distribution.
  constexpr std::uint32_t kMean = 4096;
  int inside = 0;
  double sum = 0, truth = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> draw(1.0 / kMean);
    Recording recording;
    double left = draw(random);
    truth = 0;
    for (std::uint64_t i = 0; i < 5000; ++i) {
      const std::uint64_t size = 16 + i * 7919 % 3000;
      truth += static_cast<double>(size);
      left -= static_cast<double>(size);
      if (left > 0) continue;
      recording.tracer.sample(0, 3 * kMs + i, 16 * (i + 1), size, 1, kMean);
      left = draw(random);
      if (i % 500 == 499) recording.drain(3 * kMs + i);
    }
    recording.drain(10 * kMs);
    const Slice slice = recording.slice();
    const double estimate = slice.live.bytes;
    const double error = 1.96 * std::sqrt(slice.rows[0].allocated_variance.bytes);
    inside += std::fabs(estimate - truth) <= error ? 1 : 0;
    sum += estimate;
  }
  EXPECT_NEAR(sum / 100, truth, 0.01 * truth);
  EXPECT_GE(inside, 93);
}

TEST(Collector, SaysByTheHeartbeatThatItReads) {
  Recording recording;
  recording.drain(10 * kMs);
  EXPECT_EQ(recording.tracer.shared().heartbeat, 10 * kMs);
}

}  // namespace
}  // namespace fathom::record::heap
