#include "analysis/waits/waits_by_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

using testing::ElementsAre;

// Waits of two threads that begin at 3, 1, 2 and 2 s; the last one is short.
class WaitsByThreads : public ::testing::Test {
 protected:
  WaitsByThreads() {
    hand.wait(first, at, "read", 3, 100);
    hand.wait(first, at, "read", 1, 100);
    hand.wait(second, at, "read", 2, 100);
    hand.wait(first, at, "read", 2, 1);
  }

  HandMade hand;
  model::ModuleId app = hand.module("app");
  model::ProcessId process = hand.process(10, "app");
  model::ThreadId first = hand.thread(process, 10, "first"), second = hand.thread(process, 11, "second");
  model::StackId at = hand.stack({hand.frame(app, {"main"})});
};

TEST_F(WaitsByThreads, AreInTheOrderInWhichTheyBegan) {
  const Waits waits(hand.profile, {});
  const WaitsByThread by_thread(waits);
  EXPECT_THAT(by_thread.of(first), ElementsAre(1, 3, 0));
  EXPECT_THAT(by_thread.of(second), ElementsAre(2));
}

TEST_F(WaitsByThreads, AreFoundByTheTimeTheyBegan) {
  const Waits waits(hand.profile, {});
  const WaitsByThread by_thread(waits);
  const std::uint64_t start = waits.rows()[3].wait.start_ns;
  EXPECT_EQ(by_thread.first_since(first, start), 1u);
  EXPECT_EQ(by_thread.first_since(first, start + 1), 2u);
  EXPECT_EQ(by_thread.first_since(second, start + 1), 1u) << "none began later";
}

TEST_F(WaitsByThreads, LeaveOutShortOnes) {
  const Waits waits(hand.profile, {});
  EXPECT_THAT(WaitsByThread(waits, 50'000'000).of(first), ElementsAre(1, 0));
}

}  // namespace
}  // namespace fathom::analysis
