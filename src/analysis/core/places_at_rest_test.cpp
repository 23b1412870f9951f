#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "analysis/core/waits.h"

namespace fathom::analysis {
namespace {

// Two workers of a stripped program that take turns: each parks for 90 ms and works for 10, one half a round after the other.
class Rest : public testing::Test {
 protected:
  Rest() {
    const auto app = hand.module("server"), libc = hand.module("libc.so.6");
    const auto call = hand.frame(libc, {"syscall"});
    const auto root = hand.frame(app, {"server@fde+0x1000"}), park = hand.frame(app, {"server@fde+0x2000"});
    place = hand.stack({root, park, call});
    other = hand.stack({root, hand.frame(app, {"server@fde+0x3000"}), park, call});
    const auto process = hand.process(10, "server");
    one = hand.thread(process, 11, "worker");
    two = hand.thread(process, 12, "worker");
  }
  // How much of the time of waiting at `stack` is idle.
  double idle(model::StackId stack) const {
    const Waits waits(hand.profile, {});
    double idle = 0, all = 0;
    for (const SelectedWait& row : waits.rows()) {
      if (waits.wait(row).stack != stack) continue;
      all += static_cast<double>(row.waited_ns);
      if (!row.idle) continue;
      idle += static_cast<double>(row.waited_ns);
      EXPECT_EQ(waits.idle().name(*row.idle), "worker of a stripped program");
    }
    return all > 0 ? idle / all : -1;
  }
  void take_turns(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      hand.wait(one, place, "futex", 0.1 * i, 90);
      hand.wait(two, place, "futex", 0.1 * i + 0.05, 90);
    }
  }
  HandMade hand;
  model::StackId place, other;
  model::ThreadId one, two;
};

TEST_F(Rest, IsAPlaceWhereAllAreParkedAtOnce) {
  take_turns(20);
  EXPECT_EQ(idle(place), 1);
}

// One of both always has the lock, and runs.
TEST_F(Rest, IsNoLock) {
  for (int i = 0; i < 50; ++i) {
    hand.wait(one, place, "futex", 0.1 * i, 50);
    hand.wait(two, place, "futex", 0.1 * i + 0.05, 50);
  }
  EXPECT_EQ(idle(place), 0);
}

TEST_F(Rest, IsBrokenByAThreadThatWaitsForItsDisk) {
  take_turns(20);
  const auto reader = hand.thread({0}, 13, "reader");
  for (int i = 0; i < 20; ++i) hand.wait(reader, other, "fsync", 0.1 * i, 99);
  EXPECT_EQ(idle(place), 0);
}

TEST_F(Rest, IsOfItsOwnPlaceOnly) {
  take_turns(20);
  // For this lock the one waits while the other works.
  for (int i = 20; i < 30; ++i) hand.wait(one, other, "futex", 0.1 * i, 50);
  for (int i = 20; i < 30; ++i) hand.wait(two, place, "futex", 0.1 * i + 0.06, 40);
  EXPECT_EQ(idle(other), 0);
}

// Two that wait for each other are at rest for ever.
TEST_F(Rest, IsNoDeadlock) {
  hand.wait(one, place, "futex", 0.1, 9900).unfinished = true;
  hand.wait(two, place, "futex", 0.1, 9900).unfinished = true;
  EXPECT_EQ(idle(place), 0);
}

TEST_F(Rest, IsAskedForWhereNamesAreMissingOnly) {
  const auto app = hand.module("named");
  const auto named = hand.stack({hand.frame(app, {"main"}), hand.frame(app, {"Queue::take"})});
  place = named;
  take_turns(20);
  EXPECT_EQ(idle(named), 0);
}

}  // namespace
}  // namespace fathom::analysis
