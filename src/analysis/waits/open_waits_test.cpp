#include "analysis/waits/open_waits.h"

#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

// A reader that is still blocked after 10 s, and a thread whose waits are all there.
HandMade two_threads() {
  HandMade hand;
  const auto process = hand.process(1, "app");
  const auto blocked = hand.thread(process, 1, "reader"), other = hand.thread(process, 2, "timer");
  const auto main = hand.stack({hand.frame(hand.module("app"), {"main"})});
  hand.wait(other, main, "nanosleep", 0, 9'900, 0);
  hand.profile.threads[blocked.value].waited_ns = 9'500'000'000;
  hand.profile.threads[other.value].waited_ns = 9'900'000'000;
  hand.sample(blocked, main, 1, 0.4);
  return hand;
}

TEST(OpenWaits, AreWhatIsKnownToHaveBeenWaitedAndIsInNoRow) {
  auto hand = two_threads();
  hand.profile.quality.truncated = true;
  EXPECT_NEAR(find_open_waits(Waits(hand.profile, {}), {}), 9.5e9, 1e8);
}

TEST(OpenWaits, AreNoneInARecordingThatHasItsEnd) {
  const auto hand = two_threads();
  EXPECT_EQ(find_open_waits(Waits(hand.profile, {}), {}), 0);
}

}  // namespace
}  // namespace fathom::analysis
