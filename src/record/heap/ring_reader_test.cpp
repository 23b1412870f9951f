#include "record/heap/ring_reader.h"

#include <gtest/gtest.h>

#include <random>

#include "record/heap/testing_tracer.h"

namespace fathom::sources::heap {
namespace {

std::vector<TracerEvent> drain(RingReader& reader, std::uint64_t cut) {
  std::vector<TracerEvent> events;
  reader.drain(cut, [&](const TracerEvent& event) { events.push_back(event); });
  return events;
}
std::vector<std::uint64_t> ticks(const std::vector<TracerEvent>& events) {
  std::vector<std::uint64_t> all;
  for (const TracerEvent& event : events) all.push_back(event.ticks);
  return all;
}
using Ticks = std::vector<std::uint64_t>;

TEST(RingReader, TakesTheRecordsOfAllRingsInTheOrderOfTheirTicks) {
  FakeTracer tracer(3);
  for (const std::uint64_t at : {10, 40, 50}) tracer.free(0, at, 0x10);
  for (const std::uint64_t at : {20, 30, 60}) tracer.free(2, at, 0x20);
  tracer.free(1, 45, 0x30);
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  EXPECT_EQ(ticks(drain(reader, 100)), (Ticks{10, 20, 30, 40, 45, 50, 60}));
  EXPECT_EQ(tracer.ring(0).tail, tracer.ring(0).head);
}

TEST(RingReader, LeavesWhatIsStampedAfterTheCutForTheNextRound) {
  FakeTracer tracer;
  tracer.free(0, 10, 0x10);
  tracer.free(0, 101, 0x10);
  tracer.free(1, 100, 0x10);
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  EXPECT_EQ(ticks(drain(reader, 100)), (Ticks{10, 100}));
  EXPECT_EQ(ticks(drain(reader, 200)), (Ticks{101}));
}

TEST(RingReader, ReadsEveryKindOfRecord) {
  FakeTracer tracer(1);
  tracer.thread(0, 1, 77);
  tracer.stack(0, 2, 9, {0x10, 0x20, 0x30}, WALK_NO_RULE);
  tracer.alloc(0, 3, TRACER_BLOCK(0x1000, 2), 48, 9);
  tracer.alloc(0, 4, 0x2000, 5'000'000'000, 9);
  tracer.sample(0, 5, 0x3000, 64, 9, 4096);
  tracer.free(0, 6, 0x3000);
  tracer.realloc(0, 8, 0x2000, 7, 0x4000, 100, 9);
  tracer.alloc(0, 9, 0x4000, 200, 9, TRACER_EVENT_RESIZE);
  tracer.free_sized(0, 10, TRACER_BLOCK(0x4000, 1), 6'000'000'000);
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  std::vector<std::uint64_t> addresses(3);
  std::vector<TracerEvent> events;
  reader.drain(100, [&](const TracerEvent& event) {
    if (event.kind == TRACER_EVENT_STACK) std::memcpy(addresses.data(), event.addresses, 24);
    events.push_back(event);
  });
  ASSERT_EQ(events.size(), 9u);
  EXPECT_EQ(events[0].tid, 77u);
  EXPECT_EQ(events[1].end, WALK_NO_RULE);
  EXPECT_EQ(addresses, (std::vector<std::uint64_t>{0x10, 0x20, 0x30}));
  EXPECT_EQ(events[2].block, TRACER_BLOCK(0x1000, 2));
  EXPECT_EQ(events[2].size, 48u);
  EXPECT_EQ(events[2].stack, 9u);
  EXPECT_EQ(events[2].tid, 77u);
  EXPECT_EQ(events[3].size, 5'000'000'000u);
  EXPECT_EQ(events[4].mean, 4096u);
  EXPECT_EQ(events[6].old_block, 0x2000u);
  EXPECT_EQ(events[6].ticks_before, 7u);
  EXPECT_EQ(events[6].block, 0x4000u);
  EXPECT_EQ(events[7].kind, TRACER_EVENT_RESIZE);
  EXPECT_EQ(events[8].kind, TRACER_EVENT_FREE_SIZED);
  EXPECT_EQ(events[8].block, TRACER_BLOCK(0x4000, 1));
  EXPECT_EQ(events[8].size, 6'000'000'000u);
}

TEST(RingReader, AllocationAndItsFreeAreOneEventIfNothingStandsBetween) {
  FakeTracer tracer;
  tracer.alloc(0, 10, 0x1000, 48, 9);
  tracer.free(0, 20, 0x1000);
  tracer.alloc(0, 30, 0x2000, 16, 9);
  tracer.free_sized(0, 40, 0x2000, 17);
  tracer.alloc(0, 50, 0x3000, 48, 9);  // another thread's record comes before its free
  tracer.free(1, 55, 0x9000);
  tracer.free(0, 60, 0x3000);
  tracer.alloc(0, 70, 0x4000, 48, 9);  // another block is freed first
  tracer.free(0, 75, 0x9100);
  tracer.free(0, 80, 0x4000);
  tracer.alloc(0, 90, 0x5000, 48, 9);  // the free belongs to the next round
  tracer.free(0, 101, 0x5000);
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  std::vector<TracerEvent> events;
  const auto take = [&](const TracerEvent& event) { events.push_back(event); };
  EXPECT_EQ(reader.drain(100, take).events, 11u);
  EXPECT_EQ(ticks(events), (Ticks{10, 30, 50, 55, 60, 70, 75, 80, 90}));
  ASSERT_GE(events.size(), 3u);
  EXPECT_EQ(events[0].kind, kAllocatedAndFreed);
  EXPECT_EQ(events[0].block, 0x1000u);
  EXPECT_EQ(events[0].size, 48u);
  EXPECT_EQ(events[0].freed_ticks, 20u);
  EXPECT_FALSE(events[0].sized);
  EXPECT_EQ(events[1].freed_ticks, 40u);
  EXPECT_TRUE(events[1].sized);
  EXPECT_EQ(events[1].claimed_size, 17u);
  for (std::size_t i = 2; i < events.size(); ++i) EXPECT_NE(events[i].kind, kAllocatedAndFreed) << i;
  EXPECT_EQ(ticks(drain(reader, 200)), (Ticks{101}));
}

TEST(RingReader, RecordsThatWrapAroundTheEndComeOutWhole) {
  FakeTracer tracer(1);
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  std::vector<std::uint64_t> addresses(100);
  std::uint64_t time = 0;
  for (int i = 0; i < 200; ++i) {
    addresses.resize(static_cast<std::size_t>(i));
    for (auto& address : addresses) address = static_cast<std::uint64_t>(i);
    ASSERT_TRUE(tracer.stack(0, ++time, 1, addresses));
    bool right = false;
    reader.drain(time, [&](const TracerEvent& event) {
      std::vector<std::uint64_t> read(event.count);
      if (!read.empty()) std::memcpy(read.data(), event.addresses, read.size() * 8);
      right = read == addresses;
    });
    ASSERT_TRUE(right) << i;
  }
}

TEST(RingReader, SaysHurryWhenARingIsMoreThanAQuarterFull) {
  FakeTracer tracer(2);
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  const auto nothing = [](const TracerEvent&) {};
  for (int i = 0; i < 100; ++i) tracer.free(1, 1, 0x10);
  EXPECT_FALSE(reader.drain(10, nothing).hurry);
  for (int i = 0; i < 200; ++i) tracer.free(1, 1, 0x10);
  EXPECT_TRUE(reader.drain(10, nothing).hurry);
  EXPECT_FALSE(reader.drain(10, nothing).hurry);
}

TEST(RingReader, RingWhoseContentMakesNoSenseIsGivenUpAndTheOthersAreRead) {
  const std::pair<const char*, std::function<void(FakeTracer&)>> hostile[] = {
      {"head beyond the ring", [](FakeTracer& tracer) { tracer.ring(0).head += 8200; }},
      {"head not on a word", [](FakeTracer& tracer) { tracer.ring(0).head += 4; }},
      {"head that goes back", [](FakeTracer& tracer) { tracer.ring(0).head -= 32; }},
      {"unknown kind", [](FakeTracer& tracer) { tracer.write(0, std::vector<std::uint64_t>{20 << 8 | 99}); }},
      {"record that is cut", [](FakeTracer& tracer) { tracer.ring(0).head += 8; }},
      {"stack that is too deep",
       [](FakeTracer& tracer) {
         tracer.write(0, std::vector<std::uint64_t>{TRACER_FIRST(20, TRACER_EVENT_STACK),
                                                    1 | std::uint64_t{TRACER_MAX_FRAMES + 1} << 32});
       }},
      {"stamps from the future", [](FakeTracer& tracer) { tracer.free(0, std::uint64_t{1} << 50, 0x10); }},
  };
  for (const auto& [what, change] : hostile) {
    SCOPED_TRACE(what);
    FakeTracer tracer;
    auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
    tracer.free(0, 5, 0x10);
    drain(reader, 10);
    tracer.free(0, 19, 0x10);
    change(tracer);
    for (std::uint64_t round = 2; round < 8; ++round) {
      tracer.free(1, round * 10, 0x20);
      const auto events = drain(reader, round * 10 + 5);
      EXPECT_EQ(std::count_if(events.begin(), events.end(), [](auto& event) { return event.ring == 1; }), 1);
    }
    EXPECT_EQ(reader.rings_given_up(), 1u);
  }
}

// The record is there with all its frames, so nothing but their number is wrong.
TEST(RingReader, StackOfMoreFramesThanATracerWalksIsRefusedThoughAllAreThere) {
  FakeTracer tracer;
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  ASSERT_TRUE(tracer.stack(0, 5, 1, std::vector<std::uint64_t>(TRACER_MAX_FRAMES, 0x10)));
  EXPECT_EQ(drain(reader, 10).size(), 1u);
  ASSERT_TRUE(tracer.stack(0, 15, 2, std::vector<std::uint64_t>(TRACER_MAX_FRAMES + 1, 0x10)));
  EXPECT_TRUE(drain(reader, 20).empty());
  EXPECT_EQ(reader.rings_given_up(), 1u);
}

// One record more than fits would be one that was read before, and looks as valid as the others.
TEST(RingReader, HeadThatIsFurtherAheadThanTheRingIsLongIsRefused) {
  FakeTracer tracer;
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  const std::uint64_t records = tracer.layout().ring_bytes / sizeof(tracer_event_free);
  for (std::uint64_t i = 0; i < records; ++i) tracer.free(0, 5, 0x10);
  ASSERT_EQ(tracer.ring(0).head, tracer.layout().ring_bytes);
  tracer.ring(0).head += sizeof(tracer_event_free);
  EXPECT_TRUE(drain(reader, 10).empty());
  EXPECT_EQ(reader.rings_given_up(), 1u);
}

// Behind the records that wait for the next round a head may go back without coming before the tail.
TEST(RingReader, HeadThatGoesBackBehindWhatIsNotTakenYetIsRefused) {
  FakeTracer tracer;
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  tracer.free(0, 200, 0x10);
  EXPECT_TRUE(drain(reader, 100).empty());  // stamped after the cut
  tracer.free(0, 210, 0x20);
  tracer.free(0, 220, 0x30);
  EXPECT_TRUE(drain(reader, 100).empty());
  EXPECT_EQ(reader.rings_given_up(), 0u);
  tracer.ring(0).head -= sizeof(tracer_event_free);
  EXPECT_TRUE(drain(reader, 300).empty());
  EXPECT_EQ(reader.rings_given_up(), 1u);
}

TEST(RingReader, RefusesALayoutThatItsMemoryCannotHold) {
  const auto refused = [](const std::function<void(tracer_shared&)>& change) {
    FakeTracer tracer;
    tracer_shared layout = tracer.layout();
    change(layout);
    return !RingReader::open(layout, tracer.memory());
  };
  EXPECT_TRUE(refused([](tracer_shared& head) { head.magic = 1; }));
  EXPECT_TRUE(refused([](tracer_shared& head) { head.version = TRACER_VERSION + 1; }));
  EXPECT_TRUE(refused([](tracer_shared& head) { head.ring_bytes = 8191; }));
  EXPECT_TRUE(refused([](tracer_shared& head) { head.ring_count = 3; }));
  EXPECT_TRUE(refused([](tracer_shared& head) { head.rings_offset = UINT64_MAX - 7; }));
  EXPECT_TRUE(refused([](tracer_shared& head) { head.ring_stride = 8192; }));
  EXPECT_TRUE(refused([](tracer_shared& head) { head.ring_bytes = 0; }));
}

// The target can write to the head at any moment, so also between placing and opening.
TEST(RingReader, BelievesNothingThatTheSharedHeadSaysAboutItsSize) {
  FakeTracer tracer;
  std::memset(&tracer.shared(), 0xff, sizeof(tracer_shared));
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  EXPECT_EQ(reader.ring_count(), 2u);
  tracer.ring(1).owner = 7;
  for (const std::uint64_t word : {TRACER_FIRST(10, TRACER_EVENT_FREE), std::uint64_t{0x1000}}) {
    std::memcpy(reinterpret_cast<std::byte*>(&tracer.ring(1)) + TRACER_RING_DATA + tracer.ring(1).head, &word,
                8);
    tracer.ring(1).head += 8;
  }
  ++tracer.shared().rings_taken;
  std::uint64_t freed = 0;
  reader.drain(100, [&](const TracerEvent& event) { freed = event.block; });
  EXPECT_EQ(freed, 0x1000u);
}

TEST(RingReader, EmptyRingOfAThreadThatEndedIsGivenBackAndTheOthersAreNot) {
  FakeTracer tracer(3);
  for (std::uint32_t i = 0; i < 3; ++i) tracer.thread(i, 1, 100 + i);
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  drain(reader, 10);
  tracer.free(2, 11, 0x10);
  const auto lives = [](std::int32_t tid) { return tid == 100; };
  EXPECT_EQ(reader.release(lives), 1u);
  EXPECT_EQ(tracer.ring(0).owner, 100u);  // lives
  EXPECT_EQ(tracer.ring(1).owner, 0u);
  EXPECT_EQ(tracer.ring(2).owner, 102u);  // something is in it still
  drain(reader, 20);
  EXPECT_EQ(reader.release(lives), 1u);
  EXPECT_EQ(tracer.ring(2).owner, 0u);
}

TEST(RingReader, RingThatWasGivenBackIsReadAgainWhenItIsTakenAgain) {
  FakeTracer tracer(3);
  tracer.thread(1, 1, 100);
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  EXPECT_EQ(ticks(drain(reader, 10)), (Ticks{1}));
  EXPECT_EQ(reader.release([](std::int32_t) { return false; }), 1u);
  tracer.thread(1, 11, 101);
  tracer.thread(2, 12, 102);
  EXPECT_EQ(ticks(drain(reader, 20)), (Ticks{11, 12}));
}

TEST(RingReader, RingWhoseOwnerHasNoNumberIsNeverGivenBack) {
  FakeTracer tracer;
  tracer.thread(0, 1, TRACER_MADE_UP | 7);
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  drain(reader, 10);
  EXPECT_EQ(reader.release([](std::int32_t) { return false; }), 0u);
  EXPECT_EQ(tracer.ring(0).owner, TRACER_MADE_UP | 7);
}

// A record that its thread wrote late comes a round later, and what depends on it cannot have come before.
TEST(RingReader, LateRecordComesInTheNextRoundInFrontOfWhatFollowsFromIt) {
  FakeTracer tracer;
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  // Thread 0 stamps its free at 50 and loses its CPU before it is in the ring: the block is not free yet.
  tracer.free(1, 60, 0x20);
  EXPECT_EQ(ticks(drain(reader, 100)), (Ticks{60}));
  tracer.free(0, 50, 0x10);
  tracer.alloc(1, 120, 0x10, 8);  // the same address, handed out after that
  const auto events = drain(reader, 200);
  EXPECT_EQ(ticks(events), (Ticks{50, 120}));
  EXPECT_EQ(events[0].kind, TRACER_EVENT_FREE);
}

TEST(RingReader, AnythingInTheMemoryIsReadToAnEnd) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    FakeTracer tracer(4, 8192);
    auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
    std::uint64_t cut = 0;
    for (int i = 0; i < 30; ++i) {
      for (std::uint32_t ring = 0; ring < 4; ++ring) {
        tracer_ring& to = tracer.ring(ring);
        auto* data = reinterpret_cast<std::uint64_t*>(&to) + TRACER_RING_DATA / 8;
        for (int word = 0; word < 64; ++word)
          data[random() % 1024] =
              random() % 3 == 0 ? random() : TRACER_FIRST(cut + random() % 10, random() % 9);
        if (random() % 3 != 0) to.head = to.tail + random() % 1025 * 8;
        if (random() % 50 == 0) to.head = random();
      }
      cut += random() % 100;
      std::uint64_t last = 0;
      reader.drain(cut, [&](const TracerEvent& event) {
        EXPECT_LE(event.ticks, cut);
        EXPECT_GE(event.ticks, last);
        last = event.ticks;
      });
    }
    EXPECT_LE(reader.rings_given_up(), 4u);
  }
}

TEST(RingReader, ARoundThatReachesItsBudgetGoesOnInTheNextOneInTheSameOrder) {
  constexpr std::uint64_t kEvents = 10'000;
  FakeTracer tracer(2, 1 << 18);
  for (std::uint64_t i = 0; i < kEvents; ++i)
    ASSERT_TRUE(tracer.free(static_cast<std::uint32_t>(i % 2), i + 1, 0x10));
  auto reader = RingReader::open(tracer.layout(), tracer.memory()).value();
  Ticks seen;
  const auto take = [&](const TracerEvent& event) { seen.push_back(event.ticks); };
  const auto first = reader.drain(kEvents, take, {.events = 1});
  EXPECT_LT(first.events, kEvents);
  ASSERT_TRUE(first.stopped_at);
  EXPECT_EQ(*first.stopped_at, seen.back() + 1);
  EXPECT_TRUE(first.hurry);
  EXPECT_EQ(reader.left_events(), kEvents - first.events);
  const auto second = reader.drain(kEvents, take);
  EXPECT_FALSE(second.stopped_at);
  EXPECT_EQ(reader.left_events(), 0u);
  ASSERT_EQ(seen.size(), kEvents);
  for (std::uint64_t i = 0; i < kEvents; ++i) ASSERT_EQ(seen[i], i + 1);
}

}  // namespace
}  // namespace fathom::sources::heap
