// Exact mode: every call of every shape is one event that says what the caller asked for and got.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "attach/tracer/testing_target.h"

namespace fathom::tracer {
namespace {

using testing::Event;
using testing::Target;

std::uint64_t address(const void* block) {
  return reinterpret_cast<std::uint64_t>(block);
}
void* block_at(std::uint64_t value) {
  return reinterpret_cast<void*>(value);
}

// An allocator that returns what the test sets and remembers the requests.
std::uint64_t g_result;
std::array<std::uint64_t, 6> g_arguments;
std::uint64_t answer(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d, std::uint64_t e,
                     std::uint64_t f) {
  g_arguments = {a, b, c, d, e, f};
  return g_result;
}
using Function = std::uint64_t(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                               std::uint64_t);

class ExactMode : public ::testing::Test {
 protected:
  // Calls a hook of this shape whose original gives `result`, and returns the events of calls.
  std::vector<Event> call(tracer_shape shape, std::uint64_t result, std::uint64_t a, std::uint64_t b = 0,
                          std::uint64_t c = 0) {
    g_result = result;
    auto* hook = target_.hook(shape, &answer, 5, 2);
    EXPECT_EQ(hook(a, b, c, 4, 5, 6), result);
    EXPECT_EQ(g_arguments, (std::array<std::uint64_t, 6>{a, b, c, 4, 5, 6}));
    return target_.drain_calls();
  }
  Event only(const std::vector<Event>& events) {
    EXPECT_EQ(events.size(), 1u);
    return events.empty() ? Event{} : events.front();
  }
  Target target_;
};

TEST_F(ExactMode, FirstEventsOfAThreadSayWhoItIsAndWhereItStands) {
  auto* hooked_malloc = target_.hook(TRACER_MALLOC, &std::malloc, 0, 3);
  auto* hooked_free = target_.hook(TRACER_FREE, &std::free, 0, 3);
  void* block = hooked_malloc(24);
  hooked_free(block);

  const std::vector<Event> events = target_.drain();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].kind, TRACER_EVENT_THREAD);
  EXPECT_EQ(events[0].tid, static_cast<std::uint64_t>(gettid()));
  EXPECT_EQ(events[1].kind, TRACER_EVENT_STACK);
  EXPECT_EQ(events[1].stack, 1u);
  EXPECT_EQ(events[1].end, WALK_ROOT);
  EXPECT_GT(events[1].frames.size(), 3u);
  EXPECT_EQ(events[2].kind, TRACER_EVENT_ALLOC);
  EXPECT_EQ(events[2].block, address(block));
  EXPECT_EQ(events[2].allocator, 3u);
  EXPECT_EQ(events[2].size, 24u);
  EXPECT_EQ(events[2].stack, 1u);
  EXPECT_EQ(events[3].kind, TRACER_EVENT_FREE);
  EXPECT_EQ(events[3].block, address(block));
  EXPECT_EQ(events[3].allocator, 3u);
  for (std::size_t i = 1; i < events.size(); ++i) EXPECT_LE(events[i - 1].ticks, events[i].ticks);
  EXPECT_LE(events[3].ticks, target_.now_stamp());
}

TEST_F(ExactMode, Malloc) {
  const Event event = only(call(TRACER_MALLOC, 0x1000, 24));
  EXPECT_EQ(event.kind, TRACER_EVENT_ALLOC);
  EXPECT_EQ(event.block, 0x1000u);
  EXPECT_EQ(event.size, 24u);
  EXPECT_EQ(event.allocator, 2u);
  EXPECT_NE(event.stack, 0u);
}

TEST_F(ExactMode, RequestOfNoBytesIsABlock) {
  EXPECT_EQ(only(call(TRACER_MALLOC, 0x1000, 0)).size, 0u);
}

TEST_F(ExactMode, CallThatFailsSendsNothing) {
  EXPECT_TRUE(call(TRACER_MALLOC, 0, 24).empty());
  EXPECT_TRUE(call(TRACER_MALLOC, 0, ~0ull).empty());
  EXPECT_TRUE(call(TRACER_MALLOC, 0, 1ull << 63).empty());
  EXPECT_TRUE(call(TRACER_CALLOC, 0, 3, 5).empty());
  EXPECT_TRUE(call(TRACER_ALIGNED, 0, 64, 5).empty());
}

TEST_F(ExactMode, ThreadThatAskedForTooMuchIsRecordedAgain) {
  for (const std::uint64_t size : {~0ull, 1ull << 63, (1ull << 63) + 1}) {
    EXPECT_TRUE(call(TRACER_MALLOC, 0, size).empty());
    EXPECT_EQ(only(call(TRACER_MALLOC, 0x1000, 24)).size, 24u) << size;
    EXPECT_TRUE(call(TRACER_CALLOC, 0, size, 1).empty());
    EXPECT_EQ(only(call(TRACER_CALLOC, 0x1000, 3, 5)).size, 15u) << size;
  }
}

TEST_F(ExactMode, Calloc) {
  EXPECT_EQ(only(call(TRACER_CALLOC, 0x1000, 3, 5)).size, 15u);
  EXPECT_EQ(only(call(TRACER_CALLOC, 0x1000, 0, 5)).size, 0u);
}

TEST_F(ExactMode, CallocWhoseProductOverflowsPassesThrough) {
  EXPECT_TRUE(call(TRACER_CALLOC, 0, 1ull << 40, 1ull << 40).empty());
  EXPECT_TRUE(call(TRACER_CALLOC, 0, 1ull << 32, 1ull << 31).empty());
}

TEST_F(ExactMode, AlignedTakesTheSecondArgument) {
  EXPECT_EQ(only(call(TRACER_ALIGNED, 0x1000, 64, 100)).size, 100u);
}

TEST_F(ExactMode, FunctionsOfAHeapHaveItBeforeAllElse) {
  EXPECT_EQ(only(call(TRACER_CALLOC_IN, 0x1000, 0xbad, 3, 5)).size, 15u);
  EXPECT_TRUE(call(TRACER_CALLOC_IN, 0, 0xbad, 1ull << 40, 1ull << 40).empty());
  for (const tracer_shape shape : {TRACER_REALLOC_IN, TRACER_REALLOCARRAY_IN}) {
    const Event event = only(call(shape, 0x3000, 0xbad, 0x2000, 50));
    EXPECT_EQ(event.kind, TRACER_EVENT_REALLOC);
    EXPECT_EQ(event.old_block, 0x2000u);
    EXPECT_EQ(event.block, 0x3000u);
    EXPECT_EQ(event.size, shape == TRACER_REALLOC_IN ? 50u : 200u);  // of 4 bytes each
  }
}

TEST_F(ExactMode, EachShapeThatThrowsHasPartnersOfItsOwn) {
  g_result = 0x3000;
  const std::pair<tracer_shape, std::uint64_t> sizes[] = {
      {TRACER_NEW, 40}, {TRACER_NEW_ARRAY, 120}, {TRACER_NEW_IN, 3}, {TRACER_NEW_ARRAY_IN, 21}};
  for (const auto& [shape, size] : sizes) {
    auto* hook = target_.hook(shape, static_cast<decltype(&answer)>(nullptr), 3, 1);
    target_.config().partner[tracer_throwing_row(shape)][3] = reinterpret_cast<std::uint64_t>(&answer);
    EXPECT_EQ(hook(40, 3, 7, 4, 5, 6), 0x3000u);
    EXPECT_EQ(only(target_.drain_calls()).size, size);
    target_.config().partner[tracer_throwing_row(shape)][3] = 0;
  }
}

TEST_F(ExactMode, PosixMemalignGivesItsBlockThroughMemory) {
  std::uint64_t out = 0xabc000;
  const Event event = only(call(TRACER_POSIX, 0, address(&out), 64, 100));
  EXPECT_EQ(event.kind, TRACER_EVENT_ALLOC);
  EXPECT_EQ(event.block, 0xabc000u);
  EXPECT_EQ(event.size, 100u);
}

TEST_F(ExactMode, PosixMemalignThatFailsLeavesItsArgumentAlone) {
  EXPECT_TRUE(call(TRACER_POSIX, ENOMEM, 0 /* not even looked at */, 64, 100).empty());
}

TEST_F(ExactMode, PosixMemalignReturnsAnIntOfWhichTheUpperHalfSaysNothing) {
  std::uint64_t out = 0xabc000;
  EXPECT_EQ(only(call(TRACER_POSIX, 0xffffffff00000000, address(&out), 64, 100)).block, 0xabc000u);
}

TEST_F(ExactMode, Realloc) {
  const Event event = only(call(TRACER_REALLOC, 0x2000, 0x1000, 50));
  EXPECT_EQ(event.kind, TRACER_EVENT_REALLOC);
  EXPECT_EQ(event.old_block, 0x1000u);
  EXPECT_EQ(event.block, 0x2000u);
  EXPECT_EQ(event.size, 50u);
  EXPECT_EQ(event.allocator, 2u);
  EXPECT_LT(event.ticks_before, event.ticks);
}

TEST_F(ExactMode, ReallocOfNothingHasNoOldBlock) {
  EXPECT_EQ(only(call(TRACER_REALLOC, 0x2000, 0, 50)).old_block, 0u);
}

TEST_F(ExactMode, ReallocThatFailsLeavesTheBlockLive) {
  EXPECT_TRUE(call(TRACER_REALLOC, 0, 0x1000, 50).empty());
  EXPECT_TRUE(call(TRACER_REALLOC, 0, 0, 0).empty());
}

TEST_F(ExactMode, ReallocToNoBytesThatGivesNothingFreed) {
  const Event event = only(call(TRACER_REALLOC, 0, 0x1000, 0));
  EXPECT_EQ(event.old_block, 0x1000u);
  EXPECT_EQ(event.block, 0u);
}

TEST_F(ExactMode, ReallocToNoBytesMayGiveABlock) {
  EXPECT_EQ(only(call(TRACER_REALLOC, 0x1000, 0x1000, 0)).block, 0x1000u);
}

TEST_F(ExactMode, Reallocarray) {
  const Event event = only(call(TRACER_REALLOCARRAY, 0x2000, 0x1000, 5, 7));
  EXPECT_EQ(event.kind, TRACER_EVENT_REALLOC);
  EXPECT_EQ(event.size, 35u);
  EXPECT_TRUE(call(TRACER_REALLOCARRAY, 0, 0x1000, 1ull << 40, 1ull << 40).empty());
}

TEST_F(ExactMode, XallocxSaysHowLargeTheBlockIsNow) {
  call(TRACER_MALLOC, 0x1000, 8);  // before the first allocation, no block is known
  const Event grown = only(call(TRACER_XALLOCX, 112, 0x1000, 100, 0));
  EXPECT_EQ(grown.kind, TRACER_EVENT_RESIZE);
  EXPECT_EQ(grown.block, 0x1000u);
  EXPECT_EQ(grown.size, 100u);
  EXPECT_EQ(only(call(TRACER_XALLOCX, 160, 0x1000, 100, 50)).size, 150u);
  EXPECT_EQ(only(call(TRACER_XALLOCX, 112, 0x1000, 100, ~0ull)).size, 112u);
  EXPECT_TRUE(call(TRACER_XALLOCX, 64, 0x1000, 100, 0).empty()) << "it could not grow";
}

TEST_F(ExactMode, FreeIsSentBeforeTheCall) {
  call(TRACER_MALLOC, 0x1000, 8);  // before the first allocation, no block is known
  const Event event = only(call(TRACER_FREE, 0, 0x1000));
  EXPECT_EQ(event.kind, TRACER_EVENT_FREE);
  EXPECT_EQ(event.block, 0x1000u);
  EXPECT_EQ(event.allocator, 2u);
}

TEST_F(ExactMode, FreeWithASizeSaysWhatTheCallerClaims) {
  call(TRACER_MALLOC, 0x1000, 8);  // before the first allocation, no block is known
  const std::vector<Event> first = call(TRACER_FREE_SIZED, 0, 0x1000, 40);
  const std::vector<Event> second = call(TRACER_FREE_SIZED, 0, 0x2000, 1ull << 40);
  for (const auto& [events, block, size] :
       {std::tuple(&first, 0x1000ull, 40ull), std::tuple(&second, 0x2000ull, 1ull << 40)}) {
    const Event event = only(*events);
    EXPECT_EQ(event.kind, TRACER_EVENT_FREE_SIZED);
    EXPECT_EQ(event.block, block);
    EXPECT_EQ(event.size, size);
    EXPECT_EQ(event.allocator, 2u);
  }
}

TEST_F(ExactMode, SizeAloneIsReportedWithoutReadingTheClock) {
  call(TRACER_MALLOC, 0x1000, 8);
  g_result = 0;
  auto* hook = target_.hook(TRACER_FREE_SIZED, &answer, 5, TRACER_NO_ALLOCATOR);
  hook(0x1000, 40, 3, 4, 5, 6);
  const Event event = only(target_.drain_calls());
  EXPECT_EQ(event.kind, TRACER_EVENT_FREE_SIZED);
  EXPECT_EQ(event.allocator, std::uint32_t{TRACER_NO_ALLOCATOR});
  EXPECT_EQ(event.block, 0x1000u);
  EXPECT_EQ(event.size, 40u);
  EXPECT_EQ(event.ticks, 0u);
}

TEST_F(ExactMode, FreesWithAndWithoutASizeFollowEachOtherAroundTheEndOfTheRing) {
  call(TRACER_MALLOC, 0x1000, 8);
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    const bool sized = i % 3 != 0;
    const Event event = only(call(sized ? TRACER_FREE_SIZED : TRACER_FREE, 0, i * 16, i));
    ASSERT_EQ(event.kind, sized ? TRACER_EVENT_FREE_SIZED : TRACER_EVENT_FREE) << i;
    ASSERT_EQ(event.block, i * 16);
    ASSERT_EQ(event.size, sized ? i : 0);
  }
}

TEST_F(ExactMode, FreeOfNothingSendsNothing) {
  EXPECT_TRUE(call(TRACER_FREE, 0, 0).empty());
  EXPECT_TRUE(call(TRACER_FREE_SIZED, 0, 0, 40).empty());
}

TEST_F(ExactMode, SizeOfFourGibibytesAndMoreStandsInAWordOfItsOwn) {
  constexpr std::uint64_t kSizes[] = {0xfffffffe, 0xffffffff, 0x100000000, 0x123456789abc};
  for (const std::uint64_t size : kSizes) {
    EXPECT_EQ(only(call(TRACER_MALLOC, 0x1000, size)).size, size);
    EXPECT_EQ(only(call(TRACER_REALLOC, 0x1000, 0x1000, size)).size, size);
  }
}

TEST_F(ExactMode, NewAsksThePartnerSinceNothingMayBeThrownThroughTheTracer) {
  g_result = 0x3000;
  auto* never =
      +[](std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t) {
        ADD_FAILURE() << "the original is not called";
        return std::uint64_t{0};
      };
  auto* hook = target_.hook(TRACER_NEW, never, 7, 1);
  target_.config().partner[0][7] = reinterpret_cast<std::uint64_t>(&answer);
  EXPECT_EQ(hook(40, 64, 3, 4, 5, 6), 0x3000u);
  const Event event = only(target_.drain_calls());
  EXPECT_EQ(event.kind, TRACER_EVENT_ALLOC);
  EXPECT_EQ(event.block, 0x3000u);
  EXPECT_EQ(event.size, 40u);
  EXPECT_EQ(event.allocator, 1u);
  EXPECT_EQ(target_.shared().lost_throwing, 0u);
}

TEST_F(ExactMode, ExceptionOfNewReachesItsCaller) {
  auto* throws = +[](std::uint64_t size, std::uint64_t b, std::uint64_t, std::uint64_t, std::uint64_t,
                     std::uint64_t f) -> std::uint64_t {
    throw std::array<std::uint64_t, 3>{size, b, f};
  };
  auto* hook = target_.hook(TRACER_NEW, throws);
  g_result = 0;
  target_.config().partner[0][0] = reinterpret_cast<std::uint64_t>(&answer);
  for (int i = 0; i < 3; ++i) {
    try {
      hook(40, 64, 3, 4, 5, 6);
      ADD_FAILURE();
    } catch (const std::array<std::uint64_t, 3>& arguments) {
      EXPECT_EQ(arguments, (std::array<std::uint64_t, 3>{40, 64, 6}));
    }
  }
  EXPECT_TRUE(target_.drain_calls().empty());
  EXPECT_EQ(target_.shared().lost_throwing, 3u);
  EXPECT_EQ(only(call(TRACER_MALLOC, 0x1000, 24)).block, 0x1000u) << "the thread records on";
}

TEST_F(ExactMode, NewWithoutPartnerPassesThroughAndIsCounted) {
  EXPECT_TRUE(call(TRACER_NEW, 0x1000, 24).empty());
  EXPECT_EQ(target_.shared().lost_throwing, 1u);
}

// Allocators that call themselves, or another one.
void* (*g_inner)(std::size_t);
void* outer(std::size_t size) {
  return g_inner(size + 8);
}

TEST_F(ExactMode, CallInsideOfARecordedCallPassesThroughAndIsCounted) {
  g_inner = target_.hook(TRACER_MALLOC, &std::malloc, 1);
  auto* hook = target_.hook(TRACER_MALLOC, &outer, 0);
  void* block = hook(100);
  const Event event = only(target_.drain_calls());
  EXPECT_EQ(event.block, address(block));
  EXPECT_EQ(event.size, 100u);
  EXPECT_EQ(target_.shared().nested, 1u);
  std::free(block);
}

void (*g_hooked_free)(void*);
void* frees_inside(std::size_t size) {
  g_hooked_free(std::malloc(8));
  return std::malloc(size);
}

TEST_F(ExactMode, FreeInsideOfARecordedCallPassesThrough) {
  g_hooked_free = target_.hook(TRACER_FREE, &std::free);
  auto* hook = target_.hook(TRACER_MALLOC, &frees_inside);
  void* block = hook(100);
  EXPECT_EQ(only(target_.drain_calls()).kind, TRACER_EVENT_ALLOC);
  EXPECT_EQ(target_.shared().nested, 1u);
  g_hooked_free(block);
  EXPECT_EQ(only(target_.drain_calls()).kind, TRACER_EVENT_FREE);
}

void* (*g_in_handler)(std::size_t);
void* g_handlers_block;
void allocate_in_handler(int) {
  g_handlers_block = g_in_handler(77);
}

TEST_F(ExactMode, SignalHandlerIsRecordedUnlessItInterruptsARecordedCall) {
  g_in_handler = target_.hook(
      TRACER_MALLOC, +[](std::size_t) { return block_at(0x7000); }, 1);
  const auto old = std::signal(SIGUSR1, allocate_in_handler);
  std::raise(SIGUSR1);
  const Event event = only(target_.drain_calls());
  EXPECT_EQ(event.block, address(g_handlers_block));
  EXPECT_EQ(event.size, 77u);
  EXPECT_EQ(target_.shared().nested, 0u);

  auto* interrupted = target_.hook(
      TRACER_MALLOC, +[](std::size_t) {
        std::raise(SIGUSR1);
        return block_at(0x8000);
      });
  interrupted(33);
  EXPECT_EQ(only(target_.drain_calls()).block, 0x8000u);
  EXPECT_EQ(target_.shared().nested, 1u);
  std::signal(SIGUSR1, old);
}

std::jmp_buf g_way_out;
[[gnu::noinline]] void write_over_the_stack() {
  volatile char room[4096];
  for (volatile char& each : room) each = 1;
}

TEST_F(ExactMode, ThreadThatJumpedOutOfARecordedCallIsRecordedAgain) {
  auto* never_returns = target_.hook(
      TRACER_MALLOC, +[](std::size_t) -> void* { std::longjmp(g_way_out, 1); });
  if (setjmp(g_way_out) == 0) never_returns(10);
  write_over_the_stack();
  EXPECT_EQ(only(call(TRACER_MALLOC, 0x1000, 24)).block, 0x1000u);
  EXPECT_EQ(target_.shared().nested, 0u);
}

TEST_F(ExactMode, ErrnoIsTheOriginals) {
  auto* hook = target_.hook(
      TRACER_MALLOC, +[](std::size_t) -> void* {
        errno = ENOMEM;
        return nullptr;
      });
  errno = 0;
  hook(10);
  EXPECT_EQ(errno, ENOMEM);
  auto* free_hook = target_.hook(
      TRACER_FREE, +[](void*) {});
  errno = 17;
  free_hook(block_at(0x1000));
  EXPECT_EQ(errno, 17);
}

TEST_F(ExactMode, ModeOffPassesThroughAndModesCanChange) {
  target_.set_mode(TRACER_OFF);
  EXPECT_TRUE(call(TRACER_MALLOC, 0x1000, 24).empty());
  EXPECT_TRUE(call(TRACER_FREE, 0, 0x1000).empty());
  target_.set_mode(TRACER_EXACT);
  EXPECT_EQ(call(TRACER_MALLOC, 0x1000, 24).size(), 1u);
  target_.set_mode(TRACER_OFF);
  EXPECT_TRUE(call(TRACER_MALLOC, 0x1000, 24).empty());
  EXPECT_TRUE(call(TRACER_FREE, 0, 0x1000).empty());
  target_.set_mode(TRACER_EXACT);
  EXPECT_EQ(call(TRACER_MALLOC, 0x1000, 2 << 20).size(), 1u)
      << "the mode is looked at again after a megabyte";
}

TEST_F(ExactMode, WithoutStateEveryHookPassesThrough) {
  target_.config().state = 0;
  for (int shape = 0; shape < TRACER_SHAPES; ++shape)
    EXPECT_TRUE(call(static_cast<tracer_shape>(shape), 0x1000, 0x2000, 3, 4).empty());
}

TEST_F(ExactMode, SameStackIsSentOnce) {
  auto* hook = target_.hook(TRACER_MALLOC, &answer);
  g_result = 0x1000;
  for (int i = 0; i < 100; ++i) hook(8, 0, 0, 0, 0, 0);
  int stacks = 0;
  std::uint32_t number = 0;
  for (const Event& event : target_.drain()) {
    if (event.kind == TRACER_EVENT_STACK) number = event.stack, ++stacks;
    if (event.kind == TRACER_EVENT_ALLOC) {
      EXPECT_EQ(event.stack, number);
    }
  }
  EXPECT_EQ(stacks, 1);
}

// A tree of calls, with a call of the hook at each leaf: so many stacks.
[[gnu::noinline]] void allocate_in_tree(Function* hook, int height) {
  if (height == 0) {
    hook(8, 0, 0, 0, 0, 0);
  } else {
    allocate_in_tree(hook, height - 1);
    asm volatile("" : : : "memory");
    allocate_in_tree(hook, height - 1);
  }
  asm volatile("" : : : "memory");
}

TEST(ExactStacks, KeepTheirNumbersWhenMoreOfThemHaveRoom) {
  constexpr int kHeight = 13, kStacks = 1 << kHeight;
  Target target({.ring_bytes = 1 << 22});
  Function* hook = target.hook(TRACER_MALLOC, &answer);
  g_result = 0x1000;
  int stacks = 0, calls = 0;
  const volatile int rounds = 3;  // not known, so that all are called from one place
  for (int round = 0; round < rounds; ++round) {
    allocate_in_tree(hook, kHeight);
    for (const Event& event : target.drain()) {
      if (event.kind == TRACER_EVENT_STACK) ++stacks;
      if (event.kind == TRACER_EVENT_ALLOC && event.stack != 0) ++calls;
    }
  }
  EXPECT_EQ(calls, rounds * kStacks);
  EXPECT_GE(stacks, kStacks);
  // Some had to make room for others: by the addresses of the program 11,000 to 12,900 are sent in three rounds. With the
  // sets of the beginning nearly all would be sent in every round, more than 23,900.
  EXPECT_LT(stacks, kStacks * 2);
}

TEST_F(ExactMode, WhenStackNumbersAreUsedUpNewStacksHaveNone) {
  target_.shared().next_stack = (1 << 24) - 1;
  EXPECT_EQ(only(call(TRACER_MALLOC, 0x1000, 24)).stack, 0u);
}

// Calls a function with known values in all registers that a caller may expect to survive, and compares.
struct Registers {
  std::uint64_t before[9], after[9];  // rdx rcx rsi rdi r8 r9 rbx rbp r12
};
extern "C" void preserving_original();
asm(".text\n"
    "preserving_original:\n"  // changes r10, r11 and rax, as the fast paths do
    "  mov $0x1000, %eax\n"
    "  mov $5, %r10d\n"
    "  mov $6, %r11d\n"
    "  ret\n");

void call_with_registers(std::uint64_t function, Registers& registers) {
  const std::uint64_t sizes[9] = {2, 3, 24, 5, 6, 7, 8, 9, 10};
  for (int i = 0; i < 9; ++i) registers.before[i] = sizes[i];
  std::uint64_t* words =
      registers.before;  // in rdi, and the function in rax: no other operand may be lost on the way
  asm volatile(
      "sub $128, %%rsp\n"  // the red zone
      "push %%rbx\n push %%rbp\n push %%r12\n push %%r13\n push %%r14\n push %%r15\n"
      "mov %%rdi, %%r13\n mov %%rax, %%r14\n"
      "mov %%rsp, %%r15\n and $-16, %%rsp\n"
      "mov 0(%%r13), %%rdx\n mov 8(%%r13), %%rcx\n mov 16(%%r13), %%rsi\n mov 24(%%r13), %%rdi\n"
      "mov 32(%%r13), %%r8\n mov 40(%%r13), %%r9\n mov 48(%%r13), %%rbx\n mov 56(%%r13), %%rbp\n"
      "mov 64(%%r13), %%r12\n"
      "call *%%r14\n"
      "mov %%rdx, 72(%%r13)\n mov %%rcx, 80(%%r13)\n mov %%rsi, 88(%%r13)\n mov %%rdi, 96(%%r13)\n"
      "mov %%r8, 104(%%r13)\n mov %%r9, 112(%%r13)\n mov %%rbx, 120(%%r13)\n mov %%rbp, 128(%%r13)\n"
      "mov %%r12, 136(%%r13)\n"
      "mov %%r15, %%rsp\n"
      "pop %%r15\n pop %%r14\n pop %%r13\n pop %%r12\n pop %%rbp\n pop %%rbx\n"
      "add $128, %%rsp\n"
      : "+D"(words), "+a"(function)
      :
      : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
}

TEST_F(ExactMode, RegistersSurviveThatTheOriginalLeavesAlone) {
  for (const tracer_mode mode : {TRACER_OFF, TRACER_SAMPLED, TRACER_EXACT}) {
    target_.set_mode(mode);
    target_.shared().mean = 1;
    for (int shape = 0; shape < TRACER_SHAPES; ++shape) {
      if (shape == TRACER_POSIX) continue;  // would look through its argument
      target_.hook(static_cast<tracer_shape>(shape), &preserving_original);
      for (auto& partners : target_.config().partner)
        partners[0] = reinterpret_cast<std::uint64_t>(&preserving_original);
      for (int i = 0; i < 3; ++i) {
        Registers registers{};
        call_with_registers(target_.entry(static_cast<tracer_shape>(shape), 0), registers);
        EXPECT_THAT(registers.after, ::testing::ElementsAreArray(registers.before)) << mode << ' ' << shape;
      }
    }
  }
}

}  // namespace
}  // namespace fathom::tracer
