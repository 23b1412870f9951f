// Rings and threads: whose ring it is, what happens when it is full, when threads come and go, when the
// process forks, and when the profiler is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "attach/tracer/testing_target.h"

namespace fathom::tracer {
namespace {

using std::chrono::milliseconds;
using testing::Event;
using testing::Target;

std::atomic<std::uint64_t> g_next_block;
void* next_block(std::size_t) {
  return reinterpret_cast<void*>(g_next_block += 16);
}
void nothing(void*) {}

std::uint64_t lost(Target& target) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < target.shared().ring_count; ++i) sum += target.ring(i).lost;
  return sum;
}

// Records that alternate between 16, 24 and 40 bytes, so that the end of the ring falls into each of their
// words.
TEST(Ring, RecordsThatWrapAroundTheEndComeOutWhole) {
  Target target({.ring_bytes = 4096});
  auto* allocate = target.hook(TRACER_MALLOC, &next_block);
  auto* release = target.hook(TRACER_FREE, &nothing);
  auto* resize = target.hook(
      TRACER_REALLOC, +[](void* block, std::size_t) { return block; });
  std::uint64_t expected = g_next_block;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    void* block = allocate(i);
    resize(block, i * 3);
    if (i % 3 == 0) release(block);
    expected += 16;
    const auto events = target.drain_calls();
    ASSERT_EQ(events.size(), i % 3 == 0 ? 3u : 2u);
    ASSERT_EQ(events[0].block, expected);
    ASSERT_EQ(events[0].size, i);
    ASSERT_EQ(events[1].old_block, expected);
    ASSERT_EQ(events[1].block, expected);
    ASSERT_EQ(events[1].size, i * 3);
    ASSERT_EQ(events.back().block, expected);
  }
  EXPECT_EQ(lost(target), 0u);
}

TEST(Ring, FullOneLosesAndCountsWithoutWaitingIfConfigured) {
  Target target({.ring_bytes = 4096, .wait_ms = 0});
  auto* release = target.hook(TRACER_FREE, &nothing);
  auto* allocate = target.hook(TRACER_MALLOC, &next_block);
  allocate(1);
  for (int i = 0; i < 1000; ++i) release(reinterpret_cast<void*>(0x1000));
  const auto events = target.drain();
  EXPECT_EQ(events.size() - 3 + lost(target), 1000u);
  EXPECT_GT(events.size(), 200u);
  EXPECT_EQ(target.ring(events[0].ring).waited, 0u);
  release(reinterpret_cast<void*>(0x1000));
  EXPECT_EQ(target.drain_calls().size(), 1u) << "there is room again";
}

TEST(Ring, FullOneIsWaitedForOnceAndNotAgainUntilItIsHalfEmpty) {
  Target target({.ring_bytes = 4096, .wait_ms = 20});
  auto* release = target.hook(TRACER_FREE, &nothing);
  target.hook(TRACER_MALLOC, &next_block)(1);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10'000; ++i) release(reinterpret_cast<void*>(0x1000));
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, milliseconds(19));
  EXPECT_LT(took, milliseconds(500));
  tracer_ring& ring = target.ring(target.drain().front().ring);
  EXPECT_GE(ring.waited, 19 * testing::ticks_per_ms());
  EXPECT_LT(ring.waited, 100 * testing::ticks_per_ms());
  EXPECT_GT(ring.lost, 9000u);

  const std::uint64_t lost_before = ring.lost;
  for (int i = 0; i < 10'000; ++i) release(reinterpret_cast<void*>(0x1000));
  EXPECT_GE(ring.waited, 39 * testing::ticks_per_ms()) << "it was empty, so there was hope again";
  EXPECT_GT(ring.lost, lost_before);
}

TEST(Ring, WaitingThreadGoesOnWhenThereIsRoom) {
  Target target({.ring_bytes = 4096, .wait_ms = 20'000});
  auto* release = target.hook(TRACER_FREE, &nothing);
  target.hook(TRACER_MALLOC, &next_block)(1);
  std::uint64_t records = 0;
  std::atomic<bool> done = false;
  std::thread producer([&] {
    target.hook(TRACER_MALLOC, &next_block, 1)(1);
    for (int i = 0; i < 50'000; ++i) release(reinterpret_cast<void*>(0x1000));
    done = true;
  });
  const auto count = [&](std::uint32_t, std::span<const std::uint64_t> words) {
    if (TRACER_KIND(words[0]) == TRACER_EVENT_FREE) ++records;
  };
  while (!done) {
    target.drain_raw(count);
    std::this_thread::sleep_for(milliseconds(1));
  }
  producer.join();
  target.drain_raw(count);
  EXPECT_EQ(records, 50'000u);
  EXPECT_EQ(lost(target), 0u);
}

TEST(Ring, SampledModeNeverWaits) {
  Target target({.mode = TRACER_SAMPLED, .mean = 1, .ring_bytes = 4096, .wait_ms = 10'000});
  auto* allocate = target.hook(TRACER_MALLOC, &next_block);
  for (int i = 0; i < 1000; ++i) allocate(1 << 20);
  EXPECT_EQ(target.ring(target.drain().front().ring).waited, 0u);
  EXPECT_GT(lost(target), 500u);
}

TEST(Ring, OfOneThreadIsNeverAnothersAndKeepsItsOrder) {
  for (const int count : {2, 8}) {
    Target target({.ring_bytes = 1 << 16, .wait_ms = 20'000});
    auto* allocate = target.hook(TRACER_MALLOC, &std::malloc);
    auto* release = target.hook(TRACER_FREE, &std::free);
    std::atomic<int> running = count;
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        for (int k = 0; k < 5000; ++k) release(allocate(static_cast<std::size_t>(1000 * i + k % 1000)));
        --running;
      });
    std::map<std::uint32_t, std::vector<Event>> rings;
    const auto collect = [&] {
      for (Event& event : target.drain()) rings[event.ring].push_back(std::move(event));
    };
    while (running > 0) {
      collect();
      std::this_thread::sleep_for(milliseconds(1));
    }
    for (std::thread& each : threads) each.join();
    collect();
    EXPECT_EQ(rings.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(lost(target), 0u);
    for (const auto& [ring, events] : rings) {
      EXPECT_EQ(events.front().kind, TRACER_EVENT_THREAD);
      std::uint64_t ticks = 0, allocations = 0, frees = 0, block = 0, who = 0;
      for (const Event& event : events) {
        ASSERT_GE(event.ticks, ticks);
        ticks = event.ticks;
        if (event.kind == TRACER_EVENT_ALLOC) {
          if (allocations++ == 0) who = event.size / 1000;
          ASSERT_EQ(event.size, who * 1000 + (allocations - 1) % 1000);
          block = event.block;
        } else if (event.kind == TRACER_EVENT_FREE) {
          ASSERT_EQ(event.block, block);
          ++frees;
        }
      }
      EXPECT_EQ(allocations, 5000u);
      EXPECT_EQ(frees, 5000u);
    }
  }
}

TEST(Ring, IsInheritedByTheThreadThatHasTheControlBlockNext) {
  Target target({.ring_count = 4});
  auto* allocate = target.hook(TRACER_MALLOC, &next_block);
  std::vector<std::uint64_t> tids;
  for (int i = 0; i < 50; ++i)
    std::thread([&] {
      tids.push_back(static_cast<std::uint64_t>(gettid()));
      allocate(static_cast<std::size_t>(i));
    }).join();
  std::vector<std::uint64_t> seen;
  std::uint64_t size = 0;
  for (const Event& event : target.drain()) {
    if (event.kind == TRACER_EVENT_THREAD) seen.push_back(event.tid);
    if (event.kind == TRACER_EVENT_ALLOC) {
      EXPECT_EQ(event.size, size++);
      EXPECT_EQ(seen.size(), size) << "each thread says who it is first";
    }
  }
  EXPECT_EQ(seen, tids);
  EXPECT_EQ(target.shared().lost_no_ring, 0u);
}

TEST(Ring, ThatTheProfilerTookBackIsFreeForAnyThread) {
  Target target({.ring_count = 1});
  auto* allocate = target.hook(TRACER_MALLOC, &next_block);
  allocate(1);
  allocate(1);
  EXPECT_EQ(target.shared().rings_taken, 1u);
  std::thread([&] { allocate(2); }).join();
  EXPECT_EQ(target.shared().lost_no_ring, 1u);
  target.drain();
  target.ring(0).owner = 0;
  std::thread([&] { allocate(3); }).join();
  EXPECT_EQ(target.shared().rings_taken, 2u) << "or nobody looks at it";
  const auto events = target.drain();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front().kind, TRACER_EVENT_THREAD);
  EXPECT_EQ(events.back().size, 3u);
  EXPECT_EQ(events.back().kind, TRACER_EVENT_ALLOC);
  const std::uint64_t before = target.shared().lost_no_ring;
  for (int i = 0; i < 300; ++i) allocate(4);
  EXPECT_GT(target.shared().lost_no_ring, before)
      << "the first thread notices after a while that its ring is another's now";
}

TEST(Ring, OfAThreadWithoutKnownIdIsNamedByANumberThatIsNone) {
  Target target({.may_call_kernel = false, .tid_known = false});
  target.hook(TRACER_MALLOC, &next_block)(1);
  const auto events = target.drain();
  EXPECT_EQ(events.front().tid & TRACER_MADE_UP, TRACER_MADE_UP);
  EXPECT_EQ(target.ring(events.front().ring).owner, events.front().tid);
}

TEST(Ring, OfAThreadWhoseIdOnlyTheKernelKnows) {
  Target target({.tid_known = false});
  target.hook(TRACER_MALLOC, &next_block)(1);
  EXPECT_EQ(target.drain().front().tid, static_cast<std::uint64_t>(gettid()));
}

TEST(Threads, ThatComeAndGoInNumbersAreAllRecorded) {
  Target target({.ring_count = 64, .ring_bytes = 1 << 14});
  auto* allocate = target.hook(TRACER_MALLOC, &next_block);
  std::set<std::uint64_t> tids;
  std::uint64_t allocations = 0;
  const auto collect = [&] {
    for (const Event& event : target.drain()) {
      if (event.kind == TRACER_EVENT_THREAD) tids.insert(event.tid);
      if (event.kind == TRACER_EVENT_ALLOC) ++allocations;
    }
    // what the profiler does: rings of threads that are gone
    for (std::uint32_t i = 0; i < target.shared().ring_count; ++i) {
      tracer_ring& ring = target.ring(i);
      const auto owner = __atomic_load_n(&ring.owner, __ATOMIC_ACQUIRE);
      if (owner != 0 && tgkill(getpid(), static_cast<pid_t>(owner), 0) != 0 && ring.head == ring.tail) {
        auto expected = owner;
        __atomic_compare_exchange_n(&ring.owner, &expected, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
      }
    }
  };
  for (int round = 0; round < 40; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 32; ++i) threads.emplace_back([&] { allocate(1); });
    for (std::thread& each : threads) each.join();
    collect();
  }
  EXPECT_EQ(allocations, 40u * 32u);
  EXPECT_GT(tids.size(), 1000u);
  EXPECT_EQ(target.shared().lost_no_ring + target.shared().lost_no_slot, 0u);
}

TEST(Fork, ChildPassesThroughAndTouchesNothingThatIsShared) {
  for (const tracer_mode mode : {TRACER_EXACT, TRACER_SAMPLED}) {
    Target target({.mode = mode, .mean = 1});
    auto* allocate = target.hook(TRACER_MALLOC, &std::malloc);
    auto* release = target.hook(TRACER_FREE, &std::free);
    auto* resize = target.hook(TRACER_REALLOC, &std::realloc);
    auto* resize_block = target.hook(
        TRACER_XALLOCX, +[](void*, std::size_t size) { return size; });
    void* before = allocate(100);
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      release(resize(before, 1000));
      for (std::size_t i = 0; i < 1000; ++i) {
        void* block = allocate(i);
        if (resize_block(block, i) != i) _exit(2);
        release(block);
      }
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    target.drain();
    release(before);
    EXPECT_EQ(target.drain_calls().size(), 1u) << "the parent records on";
  }
}

TEST(Fork, ChildOfAHandlerThatInterruptedARecordedCallSurvives) {
  static pid_t child;
  Target target;
  auto* allocate = target.hook(
      TRACER_MALLOC, +[](std::size_t size) {
        child = fork();  // the hook is on the stack, and the child returns into it
        return std::malloc(size);
      });
  void* block = allocate(10);
  if (child == 0) _exit(block != nullptr ? 0 : 1);
  std::free(block);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(target.drain_calls().size(), 1u);
}

// Works now and then while no heartbeat comes. Where the sequence is the clock a thread takes a heartbeat for new when
// it sees it first.
template <class Work>
void work_until_paused(Target& target, const Work& work) {
  for (int i = 0; i < 200 && target.shared().switched_off == TRACER_HEARD; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    for (int k = 0; k < 300; ++k) work();
  }
}

TEST(Heartbeat, ThatIsStalePausesTheTracer) {
  for (const tracer_mode mode : {TRACER_EXACT, TRACER_SAMPLED}) {
    Target target({.mode = mode, .mean = 1, .ring_bytes = 1 << 20});
    auto* allocate = target.hook(TRACER_MALLOC, &next_block);
    auto* release = target.hook(TRACER_FREE, &nothing);
    allocate(1 << 20);
    target.shared().heartbeat_limit = 5 * testing::ticks_per_ms();
    target.beat();
    work_until_paused(target, [&] { release(allocate(1 << 20)); });
    EXPECT_EQ(target.shared().switched_off, TRACER_PAUSED);
    EXPECT_NE(target.shared().off_ticks, 0u);
    target.drain();
    target.beat();
    for (int i = 0; i < 300; ++i) release(allocate(1 << 20));
    EXPECT_TRUE(target.drain().empty()) << "until the profiler says that it has emptied the rings";
  }
}

TEST(Heartbeat, ThatComesAgainEndsThePauseWithTheNextAllocationOfEveryThread) {
  Target target({.ring_bytes = 1 << 20});
  auto* allocate = target.hook(TRACER_MALLOC, &next_block);
  auto* release = target.hook(TRACER_FREE, &nothing);
  const auto pause = [&] {
    target.shared().heartbeat_limit = 5 * testing::ticks_per_ms();
    work_until_paused(target, [&] { release(allocate(10)); });
  };
  std::atomic<int> step = 0;
  std::thread other([&] {
    allocate(10);  // it has a slot and a ring, and notices the pause
    step = 1;
    while (step != 2) std::this_thread::yield();
    allocate(10);
    step = 3;
    while (step != 4) std::this_thread::yield();
    release(allocate(1));
  });
  while (step != 1) std::this_thread::yield();
  allocate(10);
  target.beat();
  pause();
  step = 2;
  while (step != 3) std::this_thread::yield();
  ASSERT_EQ(target.shared().switched_off, TRACER_PAUSED);
  target.drain();

  target.shared().heartbeat_limit = 60'000 * testing::ticks_per_ms();
  target.beat();
  target.shared().resumed_ticks = 0;
  target.shared().switched_off = TRACER_HEARD;
  release(next_block(1));
  EXPECT_TRUE(target.drain_calls().empty()) << "a free alone does not ask";
  EXPECT_EQ(target.shared().resumed_ticks, 0u);
  release(allocate(1));
  step = 4;
  other.join();
  const auto calls = target.drain_calls();
  EXPECT_EQ(calls.size(), 4u) << "one byte is enough, in every thread, and frees are seen from then on";
  EXPECT_NE(target.shared().resumed_ticks, 0u);
  for (const testing::Event& call : calls) EXPECT_GE(call.ticks, target.shared().resumed_ticks);
}

TEST(Heartbeat, ThatIsAwayForVeryLongIsWaitedForNoMore) {
  Target target({.ring_bytes = 1 << 20});
  auto* allocate = target.hook(TRACER_MALLOC, &next_block);
  allocate(10);
  target.shared().heartbeat_limit = testing::ticks_per_ms() / 20;
  target.beat();
  work_until_paused(target, [&] { allocate(10); });
  std::this_thread::sleep_for(milliseconds(20));
  const auto end = std::chrono::steady_clock::now() + milliseconds(5000);
  while (target.shared().switched_off != TRACER_GONE && std::chrono::steady_clock::now() < end) allocate(10);
  EXPECT_EQ(target.shared().switched_off, TRACER_GONE);
  target.drain();
  target.shared().switched_off = TRACER_HEARD;
  for (int i = 0; i < 300; ++i) allocate(1 << 20);
  EXPECT_TRUE(target.drain().empty());
}

TEST(Heartbeat, ThatStopsEndsAWait) {
  Target target({.ring_bytes = 4096, .wait_ms = 60'000});
  auto* allocate = target.hook(TRACER_MALLOC, &next_block);
  target.shared().heartbeat_limit = 20 * testing::ticks_per_ms();
  target.beat();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) allocate(1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(5000));
  EXPECT_EQ(target.shared().switched_off, TRACER_PAUSED);
}

TEST(Waiting, OfAllThreadsTogetherHasALimit) {
  Target target({.ring_bytes = 4096, .wait_ms = 60'000});
  auto* allocate = target.hook(TRACER_MALLOC, &next_block);
  target.shared().wait_total_limit = 40 * testing::ticks_per_ms();
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) allocate(1);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(5000));
  EXPECT_GE(target.shared().waited_total, target.shared().wait_total_limit);
  std::uint64_t lost = 0;
  for (std::uint32_t i = 0; i < target.shared().ring_count; ++i) lost += target.ring(i).lost;
  EXPECT_GT(lost, 0u) << "beyond the limit events are lost and counted as ever";
}

TEST(Mode, OffEndsAWait) {
  Target target({.ring_bytes = 4096, .wait_ms = 60'000});
  auto* allocate = target.hook(TRACER_MALLOC, &next_block);
  std::thread profiler([&] {
    std::this_thread::sleep_for(milliseconds(30));
    target.set_mode(TRACER_OFF);
  });
  for (int i = 0; i < 1000; ++i) allocate(1);
  profiler.join();
  EXPECT_EQ(target.shared().switched_off, 0u);
}

}  // namespace
}  // namespace fathom::tracer
