#include "record/heap/collector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "record/heap/testing_recording.h"

namespace fathom::sources::heap {
namespace {

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
// a free is stamped before its block is handed out again, wherever its record is by then.
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
          if (!live) time += OutOfOrderEvents::kEarly + 1;  // no allocation of this block is behind its free
          break;
        default: {
          const std::uint64_t to = 16 * (1 + random() % 200);
          if (to != address && model.blocks.count(to) != 0) break;
          recording.tracer.realloc(ring, time + 1, address, time, to, static_cast<std::uint32_t>(size),
                                   stack);
          time += live ? 1 : OutOfOrderEvents::kEarly + 1;
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

// A collector that logs the life of every block follows each of them; one that does not adds up short-lived
// blocks without. Both get the same input: pairs of each kind, threads that free each other's blocks, unseen
// frees, blocks freed twice, by another allocator and with the wrong size.
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
      EXPECT_EQ(slice.rows[i].sums.short_lived, expected.rows[i].sums.short_lived) << seed;
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

}  // namespace
}  // namespace fathom::sources::heap
