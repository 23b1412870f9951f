// Sampled mode: the samples stand for what was allocated, without bias and with the spread that theory says;
// the frees of sampled blocks are seen, and those of others are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "attach/tracer/state.h"
#include "attach/tracer/testing_target.h"

namespace fathom::tracer {
namespace {

using ::testing::Each;
using testing::Event;
using testing::Target;
using testing::TargetOptions;

std::atomic<std::uint64_t> g_next_sampled_block;
void* next_sampled_block(std::size_t) {
  return reinterpret_cast<void*>(g_next_sampled_block += 16);
}
void no_effect(void*) {}

TargetOptions sampled(std::uint32_t mean) {
  return {.mode = TRACER_SAMPLED, .mean = mean, .ring_bytes = 1 << 20};
}

// From here on this thread's countdowns are those of this seed, so that what is unlikely does not happen now
// and then.
void seed(Target& target, std::uint64_t value) {
  target.hook(TRACER_MALLOC, &next_sampled_block, 1)(0);
  auto& tracer_state = *reinterpret_cast<state*>(target.state().data());
  for (slot& each : tracer_state.slots) {
    if (each.key != pthread_self()) continue;
    reinterpret_cast<thread*>(tracer_state.threads[&each - tracer_state.slots])->random =
        (value + 1) * 0x9e3779b97f4a7c15u;
    each.mode = TRACER_OFF;  // so that a countdown is drawn
    each.countdown = 0;
  }
  target.hook(TRACER_MALLOC, &next_sampled_block, 1)(0);
  target.drain();
}

double weight(const Event& event) {
  return 1 / (1 - std::exp(-static_cast<double>(event.size) / event.mean));
}

std::uint64_t random_size(std::uint64_t& random) {
  random = random * 6364136223846793005u + 1442695040888963407u;
  const std::uint64_t draw = random >> 33;
  return draw % 100 == 0 ? draw % 100'000 : draw % 500;  // most are small, most bytes are in large ones
}

class SampledMode : public ::testing::Test {
 protected:
  explicit SampledMode() : target_(sampled(1)) {}
  // With a mean of one byte and blocks of a mebibyte, every block is sampled.
  static constexpr std::size_t kSurely = 1 << 20;
  static constexpr std::size_t kNever = 0;

  void* allocate(std::size_t size) { return malloc_(size); }
  Target target_;
  void* (*malloc_)(std::size_t) = target_.hook(TRACER_MALLOC, &next_sampled_block, 0, 4);
  void (*free_)(void*) = target_.hook(TRACER_FREE, &no_effect, 0, 4);
};

TEST_F(SampledMode, SampleSaysBlockSizeStackAndMean) {
  void* block = allocate(kSurely);
  const auto events = target_.drain();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].kind, TRACER_EVENT_THREAD);
  EXPECT_EQ(events[1].kind, TRACER_EVENT_STACK);
  EXPECT_EQ(events[1].end, WALK_ROOT);
  EXPECT_EQ(events[2].kind, TRACER_EVENT_SAMPLE);
  EXPECT_EQ(events[2].block, reinterpret_cast<std::uint64_t>(block));
  EXPECT_EQ(events[2].allocator, 4u);
  EXPECT_EQ(events[2].size, kSurely);
  EXPECT_EQ(events[2].stack, events[1].stack);
  EXPECT_EQ(events[2].mean, 1u);
}

TEST_F(SampledMode, FreeOfASampledBlockIsSentOnce) {
  void* block = allocate(kSurely);
  void* other = allocate(kNever);
  target_.drain();
  free_(other);
  EXPECT_TRUE(target_.drain().empty());
  free_(block);
  const auto events = target_.drain();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, TRACER_EVENT_FREE);
  EXPECT_EQ(events[0].block, reinterpret_cast<std::uint64_t>(block));
  EXPECT_EQ(events[0].allocator, 4u);
  free_(block);
  EXPECT_TRUE(target_.drain().empty());
}

TEST_F(SampledMode, FreeWithASizeOfASampledBlockSaysTheSize) {
  auto* release = target_.hook(
      TRACER_FREE_SIZED, +[](void*, std::size_t) {}, 0, 4);
  void* block = allocate(kSurely);
  void* other = allocate(kNever);
  target_.drain();
  release(other, 0);
  EXPECT_TRUE(target_.drain().empty());
  release(block, 77);
  const auto events = target_.drain();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, TRACER_EVENT_FREE_SIZED);
  EXPECT_EQ(events[0].block, reinterpret_cast<std::uint64_t>(block));
  EXPECT_EQ(events[0].size, 77u);
}

TEST_F(SampledMode, FailedCallIsNoSample) {
  auto* fails = target_.hook(
      TRACER_MALLOC, +[](std::size_t) -> void* { return nullptr; }, 1);
  fails(kSurely);
  fails(~std::size_t{0});
  EXPECT_TRUE(target_.drain_calls().empty());
}

// As mimalloc's mi_heap_realloc_aligned, which takes its block from mi_heap_malloc_aligned_at.
void* (*g_inner_of_heap)(void* heap, std::size_t size);
TEST(SampledNesting, BytesOfAReallocThatAllocatesByAHookedFunctionCountOnce) {
  constexpr std::uint32_t kMean = 1 << 20, kSize = kMean / 10, kCalls = 5000;
  Target target(sampled(kMean));
  seed(target, 3);
  g_inner_of_heap = target.hook(
      TRACER_ALIGNED, +[](void*, std::size_t size) { return next_sampled_block(size); });
  auto* outer = target.hook(
      TRACER_REALLOC_IN, +[](void* heap, void*, std::size_t size) { return g_inner_of_heap(heap, size); });
  for (std::uint32_t i = 0; i < kCalls; ++i) outer(nullptr, nullptr, kSize);
  const auto events = target.drain_calls();
  const double share = 1 - std::exp(-0.1), expected = kCalls * share;
  EXPECT_NEAR(static_cast<double>(events.size()), expected, 4 * std::sqrt(expected * (1 - share)));
  EXPECT_GT(target.shared().nested, 0u);
}

TEST_F(SampledMode, EveryShapeThatAllocatesIsSampled) {
  target_.hook(
      TRACER_CALLOC, +[](std::size_t, std::size_t) { return next_sampled_block(0); })(1024, 1024);
  target_.hook(
      TRACER_ALIGNED, +[](std::size_t, std::size_t) { return next_sampled_block(0); })(64, kSurely);
  void* out = nullptr;
  target_.hook(
      TRACER_POSIX, +[](void** block, std::size_t, std::size_t) {
        *block = next_sampled_block(0);
        return 0;
      })(&out, 64, kSurely);
  auto* resize = target_.hook(
      TRACER_REALLOC, +[](void*, std::size_t) { return next_sampled_block(0); });
  resize(nullptr, kSurely);
  target_.hook(
      TRACER_REALLOCARRAY, +[](void*, std::size_t, std::size_t) { return next_sampled_block(0); })(
      nullptr, 1024, 1024);
  target_.config().partner[0][0] = reinterpret_cast<std::uint64_t>(&next_sampled_block);
  target_.hook(TRACER_NEW, &next_sampled_block)(kSurely);
  const auto events = target_.drain_calls();
  ASSERT_EQ(events.size(), 6u);
  for (const Event& event : events) {
    EXPECT_EQ(event.kind, TRACER_EVENT_SAMPLE);
    EXPECT_EQ(event.size, kSurely);
  }
  EXPECT_EQ(events.back().block, g_next_sampled_block);
}

TEST_F(SampledMode, XallocxIsNotLookedAt) {
  void* block = allocate(kSurely);
  target_.drain();
  target_.hook(
      TRACER_XALLOCX, +[](void*, std::size_t, std::size_t, int) { return kSurely; })(block, kSurely, 0, 0);
  EXPECT_TRUE(target_.drain().empty());
}

TEST_F(SampledMode, ReallocFreesASampledBlockAndMaySampleItAgain) {
  auto* resize = target_.hook(
      TRACER_REALLOC, +[](void*, std::size_t) { return next_sampled_block(0); });
  void* block = allocate(kSurely);
  void* moved = resize(block, kSurely);
  auto events = target_.drain_calls();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].kind, TRACER_EVENT_FREE);
  EXPECT_EQ(events[1].block, reinterpret_cast<std::uint64_t>(block));
  EXPECT_EQ(events[2].kind, TRACER_EVENT_SAMPLE);
  EXPECT_EQ(events[2].block, reinterpret_cast<std::uint64_t>(moved));
  EXPECT_LE(events[1].ticks, events[2].ticks);

  void* small = resize(moved, kNever);
  events = target_.drain_calls();
  ASSERT_EQ(events.size(), 1u) << "what it is now is no sample";
  EXPECT_EQ(events[0].kind, TRACER_EVENT_FREE);
  free_(small);
  EXPECT_TRUE(target_.drain_calls().empty());
}

TEST_F(SampledMode, ReallocInPlaceIsAFreeAndANewBlockToo) {
  auto* resize = target_.hook(
      TRACER_REALLOC, +[](void* block, std::size_t) { return block; });
  void* block = allocate(kSurely);
  resize(block, kSurely * 2);
  const auto events = target_.drain_calls();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].kind, TRACER_EVENT_FREE);
  EXPECT_EQ(events[2].kind, TRACER_EVENT_SAMPLE);
  EXPECT_EQ(events[2].size, kSurely * 2);
  free_(block);
  EXPECT_EQ(target_.drain_calls().size(), 1u);
}

TEST_F(SampledMode, ReallocThatFailsLeavesTheSampleLive) {
  auto* fails = target_.hook(
      TRACER_REALLOC, +[](void*, std::size_t) -> void* { return nullptr; });
  void* block = allocate(kSurely);
  target_.drain();
  fails(block, kSurely);
  EXPECT_TRUE(target_.drain().empty());
  free_(block);
  EXPECT_EQ(target_.drain().size(), 1u) << "its free is still awaited";
}

TEST_F(SampledMode, ReallocToNoBytesFrees) {
  auto* resize = target_.hook(
      TRACER_REALLOC, +[](void*, std::size_t) -> void* { return nullptr; });
  void* block = allocate(kSurely);
  target_.drain();
  resize(block, 0);
  const auto events = target_.drain();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, TRACER_EVENT_FREE);
}

TEST_F(SampledMode, BlocksWithoutRoomInTheSetAreCountedAndNotRecorded) {
  std::uint64_t samples = 0;
  for (int i = 0; i < 400'000; ++i) {
    allocate(kSurely);
    if (i % 10'000 == 9999) samples += target_.drain_calls().size();
  }
  EXPECT_EQ(samples + target_.shared().lost_set_full, 400'000u);
  EXPECT_LE(samples, 262'144u) << "that is the room";
  EXPECT_GT(target_.shared().lost_set_full, 100'000u);
}

// The frees of sampled blocks, and none else, however many there are at once.
TEST(SampledSet, FindsAllOfFiftyThousandBlocks) {
  Target target(sampled(1));
  auto* allocate = target.hook(TRACER_MALLOC, &next_sampled_block);
  auto* release = target.hook(TRACER_FREE, &no_effect);
  std::vector<void*> sampled_blocks, others;
  std::set<std::uint64_t> known;
  for (int i = 0; i < 50'000; ++i) {
    sampled_blocks.push_back(allocate(1 << 20));
    others.push_back(allocate(0));
    if (i % 1000 == 0)
      for (const Event& event : target.drain_calls()) known.insert(event.block);
  }
  for (const Event& event : target.drain_calls()) known.insert(event.block);
  EXPECT_EQ(known.size() + target.shared().lost_set_full, 50'000u);
  EXPECT_LT(target.shared().lost_set_full, 50u);
  for (void* block : others) release(block);
  EXPECT_TRUE(target.drain_calls().empty());
  std::size_t freed = 0;
  for (std::size_t i = 0; i < sampled_blocks.size(); ++i) {
    release(sampled_blocks[i]);
    if (i % 1000 != 999) continue;
    for (const Event& event : target.drain_calls()) {
      EXPECT_EQ(event.kind, TRACER_EVENT_FREE);
      freed += known.erase(event.block);
    }
  }
  EXPECT_TRUE(known.empty()) << freed;
  const auto& left = *reinterpret_cast<const state*>(target.state().data());
  EXPECT_THAT(left.sieve, Each(0u)) << "no bit stays behind";
  EXPECT_THAT(left.filter, Each(0u));
  EXPECT_THAT(left.bitmap, Each(0u));
}

TEST(SampledSet, ThreadsThatFreeEachOthersBlocksLoseNone) {
  Target target({.mode = TRACER_SAMPLED, .mean = 200, .ring_bytes = 1 << 24});
  auto* allocate = target.hook(TRACER_MALLOC, &std::malloc);
  auto* release = target.hook(TRACER_FREE, &std::free);
  constexpr int kThreads = 4, kRounds = 20'000, kPlaces = 1024;
  std::vector<std::atomic<void*>> places(kPlaces);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      std::uint64_t random = static_cast<std::uint64_t>(i) + 1;
      for (int k = 0; k < kRounds; ++k) {
        void* block = allocate(random_size(random) % 300 + 1);
        block = places[random >> 40 & (kPlaces - 1)].exchange(block);
        if (block != nullptr) release(block);
      }
    });
  for (std::thread& each : threads) each.join();
  for (auto& place : places)
    if (void* block = place.load()) release(block);

  std::vector<Event> events = target.drain_calls();
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.ticks < b.ticks; });
  std::map<std::uint64_t, int> live;
  for (const Event& event : events) live[event.block] += event.kind == TRACER_EVENT_SAMPLE ? 1 : -1;
  std::size_t samples = 0;
  for (const Event& event : events) samples += event.kind == TRACER_EVENT_SAMPLE;
  EXPECT_GT(samples, 10'000u);
  for (const auto& [block, count] : live) ASSERT_EQ(count, 0) << std::hex << block;
  EXPECT_EQ(target.shared().lost_set_full, 0u);
}

// Many runs over the same allocations: the mean of the estimates is the truth, their spread matches the
// reported one, and the 95 % intervals contain the truth as often as they should.
TEST(SampledEstimate, IsUnbiasedAndItsIntervalHoldsTheTruth) {
  constexpr int kRuns = 400;
  constexpr std::uint32_t kMean = 20'000;
  int held = 0;
  double sum = 0, square_sum = 0, variance_sum = 0, count_sum = 0;
  double truth = 0, true_count = 0;
  {
    std::uint64_t random = 99;
    for (int i = 0; i < 20'000; ++i) truth += static_cast<double>(random_size(random));
    true_count = 20'000;
  }
  for (int run = 0; run < kRuns; ++run) {
    Target target({.mode = TRACER_SAMPLED, .mean = kMean, .ring_bytes = 1 << 20, .tables = false});
    auto* allocate = target.hook(TRACER_MALLOC, &next_sampled_block);
    seed(target, static_cast<std::uint64_t>(run));
    std::uint64_t random = 99;
    for (int i = 0; i < 20'000; ++i) allocate(random_size(random));
    double bytes = 0, variance = 0, blocks = 0;
    for (const Event& event : target.drain_calls()) {
      const double w = weight(event), size = static_cast<double>(event.size);
      bytes += size * w;
      blocks += w;
      variance += size * size * w * (w - 1);
    }
    sum += bytes;
    square_sum += bytes * bytes;
    variance_sum += variance;
    count_sum += blocks;
    held += std::abs(bytes - truth) <= 1.96 * std::sqrt(variance);
  }
  const double mean = sum / kRuns, spread = std::sqrt(square_sum / kRuns - mean * mean);
  EXPECT_NEAR(mean / truth, 1, 4 * spread / truth / std::sqrt(kRuns));
  EXPECT_NEAR(count_sum / kRuns / true_count, 1, 0.1);
  EXPECT_NEAR(spread / std::sqrt(variance_sum / kRuns), 1, 0.15);
  EXPECT_GE(held, kRuns * 93 / 100);
}

// One size alone: how many of so many blocks are sampled is a binomial number with a known share.
TEST(SampledEstimate, ShareOfBlocksOfOneSizeIsThatOfTheory) {
  for (const std::size_t size : {100u, 5000u, 20'000u, 100'000u}) {
    Target target({.mode = TRACER_SAMPLED, .mean = 20'000, .ring_bytes = 1 << 24, .tables = false});
    auto* allocate = target.hook(TRACER_MALLOC, &next_sampled_block);
    auto* release = target.hook(TRACER_FREE, &no_effect);
    seed(target, size);
    constexpr int kBlocks = 100'000;
    for (int i = 0; i < kBlocks; ++i) release(allocate(size));
    std::size_t samples = 0, frees = 0;
    for (const Event& event : target.drain_calls())
      (event.kind == TRACER_EVENT_SAMPLE ? samples : frees) += 1;
    const double share = 1 - std::exp(-static_cast<double>(size) / 20'000);
    EXPECT_NEAR(static_cast<double>(samples), kBlocks * share,
                4 * std::sqrt(kBlocks * share * (1 - share)) + 1)
        << size;
    EXPECT_EQ(samples, frees);
  }
}

TEST(SampledEstimate, ChangedMeanHoldsFromTheNextCountdownOn) {
  Target target(sampled(1));
  auto* allocate = target.hook(TRACER_MALLOC, &next_sampled_block);
  allocate(1 << 20);
  target.shared().mean = 1000;
  allocate(1 << 20);
  allocate(1 << 20);
  const auto events = target.drain_calls();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].mean, 1u) << "its countdown was drawn before";
  EXPECT_EQ(events[2].mean, 1000u);
}

}  // namespace
}  // namespace fathom::tracer
