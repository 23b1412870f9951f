// Where a sequence orders the events: their order is that of what happened, and times follow the profiler's looks.
#include "record/heap/event_clock.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "attach/tracer/testing_target.h"
#include "record/heap/testing_recording.h"

namespace fathom::sources::heap {
namespace {

tracer_shared sequence_of(std::uint64_t base_ns) {
  tracer_shared layout{};
  layout.clock = TRACER_CLOCK_SEQUENCE;
  layout.sequence_base_ns = base_ns;
  layout.tsc_base = 77;
  return layout;
}

TEST(EventClock, SequenceIsMovedToTheTimeWheneverItIsAskedFor) {
  tracer_shared shared = sequence_of(5 * kMs);
  EventClock clock(shared, shared);
  EXPECT_EQ(clock.now({123, 6 * kMs}), kMs) << "whatever the counter says";
  shared.sequence += 10;  // events
  clock.advance(8 * kMs);
  EXPECT_EQ(shared.sequence, 3 * kMs);
  EXPECT_EQ(clock.now({0, 9 * kMs}), 4 * kMs);
  EXPECT_EQ(clock.ns(4 * kMs + 20), 9 * kMs + 20);
}

TEST(EventClock, SequenceNeverGoesBack) {
  tracer_shared shared = sequence_of(5 * kMs);
  EventClock clock(shared, shared);
  clock.now({0, 9 * kMs});
  clock.advance(7 * kMs);
  EXPECT_EQ(shared.sequence, 4 * kMs);
  EXPECT_EQ(clock.now({0, 1 * kMs}), 4 * kMs) << "nor before its start";
  shared.sequence = UINT64_MAX;  // by a target that lies
  clock.advance(20 * kMs);
  EXPECT_EQ(clock.now({0, 21 * kMs}), UINT64_MAX);
  EXPECT_EQ(clock.ns_per_tick(), 1.0) << "its word changes no rate";
}

TEST(EventClock, CounterIsLeftAlone) {
  tracer_shared shared{};
  shared.tsc_base = 100;
  EventClock clock(shared, shared);
  EXPECT_EQ(clock.now({150, kMs}), 50u);
  clock.advance(9 * kMs);
  EXPECT_EQ(shared.sequence, 0u);
  EXPECT_FALSE(clock.is_in_order());
}

// With the counter this free would be taken for that of the allocation: it may be stamped a little too early. A thread
// that ends makes glibc free blocks that were never handed out, and others are given those.
TEST(EventClock, StampsOfASequenceAreNeverTakenForWrongOnes) {
  FakeTracer tracer(2, 1u << 16);
  tracer_shared layout = tracer.layout();
  layout.clock = TRACER_CLOCK_SEQUENCE;
  layout.sequence_base_ns = FakeTracer::kBase;
  auto collector = Collector::create(layout, tracer.memory(), Recording::at(0)).value();
  tracer.thread(0, 1, 100);
  tracer.thread(1, 1, 101);
  tracer.free(1, 3 * kMs, 0x1000);
  tracer.alloc(0, 3 * kMs + 1, 0x1000, 100);
  collector.drain(Recording::at(10 * kMs));
  EXPECT_EQ(collector.live(), (Sum{1, 100}));
  EXPECT_EQ(collector.counters().unknown_frees, 1u);
  EXPECT_EQ(collector.counters().early_frees, 0u);
}

// The tracer and this processor: threads hand each other blocks without a pause, and a third one moves the clock.
TEST(EventClock, SequenceOrdersEventsOfThreadsThatFreeEachOthersBlocks) {
  constexpr int kEach = 150'000;
  tracer::testing::Target target({.ring_count = 4, .ring_bytes = 1 << 24, .clock = TRACER_CLOCK_SEQUENCE});
  const auto moment = [] { return Moment{0, clock_ns(CLOCK_MONOTONIC)}; };
  auto collector =
      Collector::create(target.shared(),
                        {reinterpret_cast<std::byte*>(&target.shared()), target.shared().bytes}, moment())
          .value();
  auto* allocate = target.hook(TRACER_MALLOC, &std::malloc);
  auto* resize = target.hook(TRACER_REALLOC, &std::realloc);
  auto* release = target.hook(TRACER_FREE, &std::free);
  std::array<std::atomic<void*>, 2> places{};  // few, so that blocks change hands at once
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      std::uint64_t random = i + 1;
      for (int k = 0; k < kEach; ++k) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        void* block = allocate(40 + (random >> 40 & 15));
        if ((random >> 50 & 7) == 0) block = resize(block, 200);
        block = places[random >> 63].exchange(block);
        if (block != nullptr) release(block);
      }
    });
  std::atomic<bool> stop = false;
  std::thread mover([&] {
    while (!stop) collector.advance_clock(clock_ns(CLOCK_MONOTONIC));
  });
  for (std::thread& each : threads) each.join();
  stop = true;
  mover.join();
  std::uint64_t left = 0;
  for (auto& place : places) left += place != nullptr;
  collector.drain(moment());
  const Counters counters = collector.counters();
  EXPECT_EQ(counters.lost_ring_full, 0u);
  EXPECT_EQ(counters.unknown_frees + counters.invalid_frees + counters.unseen_frees + counters.early_frees,
            0u);
  EXPECT_EQ(collector.live().blocks, static_cast<double>(left));
  for (auto& place : places) std::free(place.load());
}

}  // namespace
}  // namespace fathom::sources::heap
