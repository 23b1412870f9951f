// The stacks that the tracer sends are those that the user-mode unwinder finds on the same spot by a full
// walk, whatever was walked before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <csignal>
#include <map>
#include <thread>

#include "attach/tracer/testing_target.h"
#include "binary/unwind/unwinder.h"
#include "testdata/random_calls.h"

namespace fathom::tracer {
namespace {

using testing::Event;
using testing::Target;
using testing::TargetOptions;

struct Stack {
  std::vector<std::uint64_t> frames;
  std::uint32_t end = 0;
  bool operator==(const Stack&) const = default;
};

// What the original of the hook sees: the caller's registers at the hook's entry, as the slow path has saved
// them, and from there a full walk over the stack as it is.
struct Witness {
  std::uint64_t stack_end = 0;
  Stack stack;
};
thread_local Witness t_witness;

[[gnu::noinline, gnu::no_sanitize_address]] void* witness(std::size_t) {
  // our rbp -> the slow path's rbp -> the caller's rbp, and above it the hook's return address
  const auto* own = static_cast<const std::uint64_t*>(__builtin_frame_address(0));
  const auto* slow = reinterpret_cast<const std::uint64_t*>(own[0]);
  unwind::UnwindInput input;
  input.fp = slow[0];
  input.pc = slow[1];
  input.sp = reinterpret_cast<std::uint64_t>(slow + 2);
  input.stack_start = {input.sp};
  if (input.sp >= t_witness.stack_end || t_witness.stack_end - input.sp > (256u << 20))
    t_witness.stack_end = testing::end_of_mapping(input.sp);
  input.stack = {reinterpret_cast<const std::byte*>(input.sp), t_witness.stack_end - input.sp};
  std::vector<FrameAddress> frames;
  t_witness.stack.end = unwind::Unwinder(testing::own_address_space()).unwind(input, frames);
  t_witness.stack.frames.clear();
  for (const FrameAddress& frame : frames)
    t_witness.stack.frames.push_back(
        frame.address.value | (frame.kind == FrameAddress::Kind::kInstructionPointer ? WALK_EXACT : 0));
  t_witness.stack.frames[0] &= ~WALK_EXACT;  // the unwinder takes the first frame for an interrupted one
  if (t_witness.stack.frames.size() > TRACER_MAX_FRAMES) {
    t_witness.stack.frames.resize(TRACER_MAX_FRAMES);
    t_witness.stack.end = WALK_DEPTH_LIMIT;
  }
  return reinterpret_cast<void*>(0x1000);
}

// Records calls together with what the witness saw, and compares them.
class Comparison {
 public:
  explicit Comparison(const TargetOptions& options = {.ring_bytes = 1 << 22})
      : target_(options), hook_(target_.hook(TRACER_MALLOC, &witness)) {}

  void call() {
    hook_(8);
    last_ = t_witness.stack;
    expected_.push_back(last_);
    if (expected_.size() >= 1000) compare();
  }
  void compare() {
    std::size_t at = 0;
    for (const Event& event : target_.drain()) {
      if (event.kind == TRACER_EVENT_STACK) stacks_[event.stack] = {event.frames, event.end};
      if (event.kind != TRACER_EVENT_ALLOC) continue;
      ASSERT_LT(at, expected_.size());
      ASSERT_EQ(stacks_[event.stack], expected_[at]) << "call " << compared_;
      ++at;
      ++compared_;
    }
    ASSERT_EQ(at, expected_.size()) << "events are missing";
    expected_.clear();
  }
  std::size_t compared() const { return compared_; }
  std::size_t distinct() const { return stacks_.size(); }
  const Stack& last() const { return last_; }
  Target& target() { return target_; }

 private:
  Target target_;
  void* (*hook_)(std::size_t);
  std::vector<Stack> expected_;
  Stack last_;
  std::map<std::uint32_t, Stack> stacks_;
  std::size_t compared_ = 0;
};

void compare_here(CallWalk& walk) {
  static_cast<Comparison*>(walk.context)->call();
}

class Stacks : public ::testing::TestWithParam<bool> {
 protected:
  void calls(Comparison& comparison, std::uint64_t seed, int count, int depth) {
    CallWalk walk{compare_here, seed, count, &comparison};
    while (walk.calls_left > 0)
      (GetParam() ? kCallsWithFramePointer : kCallsWithoutFramePointer)(walk, depth);
  }
};

TEST_P(Stacks, EqualAFullWalkInRandomCallTrees) {
  Comparison comparison;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) calls(comparison, seed * 0x9e3779b97f4a7c15, 1000, 30);
  comparison.compare();
  EXPECT_EQ(comparison.compared(), 10000u);
  EXPECT_GT(comparison.distinct(), 2000u);
  EXPECT_EQ(comparison.last().end, WALK_ROOT);
}

TEST_P(Stacks, EqualAFullWalkInAnotherThread) {
  Comparison comparison;
  std::thread([&] { calls(comparison, 12345, 3000, 20); }).join();
  comparison.compare();
  EXPECT_EQ(comparison.compared(), 3000u);
  EXPECT_EQ(comparison.last().end, WALK_ROOT);
}

INSTANTIATE_TEST_SUITE_P(, Stacks, ::testing::Bool(), [](const auto& each) {
  return each.param ? "WithFramePointer" : "WithoutFramePointer";
});

// Frames of both kinds, one kind calling the other.
void mixed_leaf(CallWalk& walk) {
  if (walk.draw() % 3 == 0 && walk.calls_left > 0) {
    CallWalk inner{walk.draw() % 2 ? mixed_leaf : compare_here, walk.draw(), 3, walk.context};
    (walk.draw() % 2 ? kCallsWithFramePointer : kCallsWithoutFramePointer)(inner, 8);
  }
  compare_here(walk);
}

TEST(Stack, EqualsAFullWalkThroughFramesOfBothKindsAHundredThousandTimes) {
  Comparison comparison;
  std::uint64_t seed = 7;
  while (comparison.compared() < 100'000) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    CallWalk walk{mixed_leaf, seed | 1, 100, &comparison};
    (seed >> 40 & 1 ? kCallsWithFramePointer : kCallsWithoutFramePointer)(walk, 15);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

[[gnu::noinline]] void recurse(Comparison& comparison, int depth) {
  if (depth == 0)
    comparison.call();
  else
    recurse(comparison, depth - 1);
  asm volatile("" : : : "memory");
}

TEST(Stack, DeeperThanTheLimitKeepsItsLeaf) {
  Comparison comparison;  // the witness keeps every frame of up to 1,023
  for (const int depth : {1000, 480, 500, 520, 490, 900, 10, 505, 1000, 1000, 10}) recurse(comparison, depth);
  comparison.compare();
  recurse(comparison, 1000);
  EXPECT_EQ(comparison.last().frames.size(), std::size_t{TRACER_MAX_FRAMES});
  comparison.compare();
}

TEST(Stack, ChangedTablesVoidWhatWasRemembered) {
  Comparison comparison;
  recurse(comparison, 20);
  recurse(comparison, 20);
  comparison.compare();
  const std::uint64_t run = comparison.target().shared().mapping_run;
  comparison.target().shared().mapping_run = 0;
  ++comparison.target().shared().table_epoch;
  auto* hook = comparison.target().hook(TRACER_MALLOC, &witness);
  hook(8);
  for (const Event& event : comparison.target().drain()) {
    if (event.kind != TRACER_EVENT_STACK) continue;
    EXPECT_EQ(event.frames.size(), 1u);
    EXPECT_EQ(event.end, WALK_NO_MAPPING);
  }
  comparison.target().shared().mapping_run = run;
  ++comparison.target().shared().table_epoch;
  recurse(comparison, 20);
  comparison.compare();
}

// A plugin in the place of one that was unloaded: the same addresses, and another stack.
TEST(Stack, IsSentAgainWhereOtherCodeLies) {
  Target target;
  const auto numbers_of_call = [&] {
    std::vector<std::uint32_t> numbers;
    target.hook(TRACER_MALLOC, &witness)(8);
    for (const Event& event : target.drain())
      if (event.kind == TRACER_EVENT_STACK) numbers.push_back(event.stack);
    return numbers;
  };
  std::size_t first = 0, again = 0, changed = 0, replaced = 0;
  for (int round = 0; round < 4; ++round) {
    if (round == 2) ++target.shared().table_epoch;
    if (round == 3) target.shared().table_epoch += 1u << TRACER_EPOCH_CODE_SHIFT;
    const std::size_t count = numbers_of_call().size();
    (round == 0 ? first : round == 1 ? again : round == 2 ? changed : replaced) = count;
  }
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(again, 0u);
  EXPECT_EQ(changed, 0u) << "more code, and none in the place of other code";
  EXPECT_EQ(replaced, 1u);
}

TEST(Stack, RunOfMappingsOutsideOfTheirArrayIsNone) {
  Target target;
  target.shared().mapping_run = 5 | std::uint64_t{0xffffffff} << 32;
  ++target.shared().table_epoch;
  target.hook(TRACER_MALLOC, &witness)(8);
  const auto events = target.drain();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].end, WALK_NO_MAPPING);
}

Comparison* g_comparison;
void handler(int) {
  recurse(*g_comparison, 3);
}

[[gnu::noinline]] void raise_deep(int depth) {
  if (depth == 0)
    std::raise(SIGUSR1);
  else
    raise_deep(depth - 1);
  asm volatile("" : : : "memory");
}

TEST(Stack, GoesThroughSignalHandlers) {
  Comparison comparison;
  g_comparison = &comparison;
  const auto old = std::signal(SIGUSR1, handler);
  for (int i = 0; i < 50; ++i) {
    raise_deep(i % 7);
    recurse(comparison, i % 5);
  }
  raise_deep(2);
  std::signal(SIGUSR1, old);
  EXPECT_EQ(std::count_if(comparison.last().frames.begin(), comparison.last().frames.end(),
                          [](std::uint64_t frame) { return (frame & WALK_EXACT) != 0; }),
            1)
      << "the interrupted frame";
  EXPECT_EQ(comparison.last().end, WALK_ROOT);
  comparison.compare();
}

// A stack of another kind: what the witness can read ends at its mapping.
class OtherStack : public ::testing::Test {
 protected:
  static constexpr std::size_t kSize = 1 << 20;
  OtherStack() {
    memory_ = static_cast<std::byte*>(
        mmap(nullptr, kSize + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_, 4096, PROT_NONE);
  }
  ~OtherStack() override { munmap(memory_, kSize + 4096); }
  std::byte* memory_;
};

Comparison* g_fiber_comparison;
void fiber() {
  for (int i = 0; i < 10; ++i) recurse(*g_fiber_comparison, i);
}

TEST_F(OtherStack, OfAFiberIsReadThroughTheKernel) {
  Comparison comparison;
  g_fiber_comparison = &comparison;
  std::thread([&] {
    recurse(comparison, 3);
    ucontext_t here, there;
    getcontext(&there);
    there.uc_stack.ss_sp = memory_ + 4096;
    there.uc_stack.ss_size = kSize;
    there.uc_link = &here;
    makecontext(&there, fiber, 0);
    swapcontext(&here, &there);
    recurse(comparison, 3);
  }).join();
  comparison.compare();
  EXPECT_EQ(comparison.compared(), 12u);
}

TEST_F(OtherStack, OfAFiberIsNotReadWhereTheKernelMayNotBeCalled) {
  Target target({.may_call_kernel = false});
  static void* (*hook)(std::size_t);
  hook = target.hook(TRACER_MALLOC, &std::malloc);
  ucontext_t here, there;
  getcontext(&there);
  there.uc_stack.ss_sp = memory_ + 4096;
  there.uc_stack.ss_size = kSize;
  there.uc_link = &here;
  makecontext(
      &there, +[] { std::free(hook(8)); }, 0);
  swapcontext(&here, &there);
  const auto events = target.drain();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].end, WALK_READ_FAULT);
  EXPECT_EQ(events[1].frames.size(), 1u);
}

TEST_F(OtherStack, OfASignalHandlerIsReadThroughTheKernel) {
  Comparison comparison;
  g_comparison = &comparison;
  stack_t alternate{}, old_stack{};
  alternate.ss_sp = memory_ + 4096;
  alternate.ss_size = kSize;
  sigaltstack(&alternate, &old_stack);
  struct sigaction action {
  }, old{};
  action.sa_handler = +[](int) {
    auto* hook = g_comparison->target().hook(TRACER_MALLOC, &std::malloc);
    std::free(hook(8));
  };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, &old);
  std::thread([&] {
    sigaltstack(&alternate, nullptr);
    raise_deep(3);
  }).join();
  sigaction(SIGUSR1, &old, nullptr);
  sigaltstack(&old_stack, nullptr);
  const auto events = comparison.target().drain();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].end, WALK_ROOT) << "through the frame of the signal to the thread's own stack";
  EXPECT_GT(events[1].frames.size(), 7u);
}

}  // namespace
}  // namespace fathom::tracer
