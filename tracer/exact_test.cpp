// Exact mode: every call of every shape is one event with what the caller asked for and got.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tracer/testing_target.h"

namespace fathom::tracer {
namespace {

using testing::Event;
using testing::Target;

std::uint64_t address(const void* block) {
  return reinterpret_cast<std::uint64_t>(block);
}

TEST(ExactMode, MallocAndFreeAreOneEventEach) {
  Target target;
  auto* hooked_malloc = target.hook(TRACER_MALLOC, &std::malloc, 0, 3);
  auto* hooked_free = target.hook(TRACER_FREE, &std::free, 0, 3);
  void* block = hooked_malloc(24);
  hooked_free(block);

  const std::vector<Event> events = target.drain();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].kind, TRACER_EVENT_THREAD);
  EXPECT_EQ(events[0].tid, static_cast<std::uint64_t>(gettid()));
  EXPECT_EQ(events[1].kind, TRACER_EVENT_STACK);
  EXPECT_EQ(events[1].stack, 1u);
  EXPECT_EQ(events[1].end, WALK_ROOT);
  EXPECT_EQ(events[2].kind, TRACER_EVENT_ALLOC);
  EXPECT_EQ(events[2].block, address(block));
  EXPECT_EQ(events[2].allocator, 3u);
  EXPECT_EQ(events[2].size, 24u);
  EXPECT_EQ(events[2].stack, 1u);
  EXPECT_EQ(events[3].kind, TRACER_EVENT_FREE);
  EXPECT_EQ(events[3].block, address(block));
  EXPECT_EQ(events[3].allocator, 3u);
  for (std::size_t i = 1; i < events.size(); ++i) EXPECT_LE(events[i - 1].ticks, events[i].ticks);
}

}  // namespace
}  // namespace fathom::tracer
