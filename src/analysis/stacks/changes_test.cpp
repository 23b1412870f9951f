#include "analysis/stacks/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::stacks {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ThreadLook waiting(std::int32_t tid, std::uint64_t slices, std::uint32_t stack) {
  ThreadLook thread;
  thread.pid = 1;
  thread.tid = tid;
  thread.state = State::kWaits;
  thread.slices = slices;
  thread.stack = model::StackId{stack};
  return thread;
}

Look look_of(std::vector<ThreadLook> threads) {
  Look look;
  look.threads = std::move(threads);
  return look;
}

TEST(Changes, AThreadThatGotNoCpuHasNotMoved) {
  const Look first = look_of({waiting(1, 5, 9), waiting(2, 7, 9)});
  const Look last = look_of({waiting(1, 5, 9), waiting(2, 8, 9)});
  const Changes changes = compare(first, last);
  EXPECT_THAT(changes.stayed, ElementsAre(0u));
  EXPECT_THAT(changes.moved, ElementsAre(1u)) << "at the same place, and it has run";
}

TEST(Changes, WithoutACountTheStackDecides) {
  const Look first = look_of({waiting(1, 0, 9), waiting(2, 0, 9)});
  const Look last = look_of({waiting(1, 0, 9), waiting(2, 0, 8)});
  EXPECT_THAT(compare(first, last).moved, ElementsAre(1u));
}

TEST(Changes, AThreadThatRunsHasMoved) {
  Look first = look_of({waiting(1, 5, 9)});
  first.threads[0].state = State::kRuns;
  EXPECT_THAT(compare(first, first).moved, ElementsAre(0u));
}

TEST(Changes, ThreadsThatStartAndEndAreCounted) {
  const Look first = look_of({waiting(1, 5, 9), waiting(2, 5, 9)});
  const Look last = look_of({waiting(2, 5, 9), waiting(3, 5, 9)});
  const Changes changes = compare(first, last);
  EXPECT_EQ(changes.ended, 1u);
  EXPECT_EQ(changes.started, 1u);
  EXPECT_THAT(changes.moved, ElementsAre(1u));
  EXPECT_THAT(compare({}, {}).moved, IsEmpty());
}

}  // namespace
}  // namespace fathom::stacks
