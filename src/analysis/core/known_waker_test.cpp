#include "analysis/core/known_waker.h"

#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "analysis/core/waits.h"

namespace fathom::analysis {
namespace {

TEST(KnownWakers, AnEpollWaitIsIdleUnlessItsSetShowsWhatItIsFor) {
  struct Row {
    const char* set;       // nullptr: not known
    bool woken_by_thread;  // of another process, which has no stack
    std::int64_t result;
    bool idle, timer;
  };
  for (const Row& row :
       std::vector<Row>{{nullptr, true, 1, true, false},
                        {"connected 1", true, 1, false, false},
                        {"connected 1", false, 1, false, false},
                        {"connected 300, timers 1, wakers 1, others 2", true, 1, false, false},
                        {"connected 1", false, 0, true, true},  // it ran into its timeout
                        {"connected 1, accepted 1", true, 1, true, false},
                        {"connected 5, listening 1", true, 1, true, false},
                        {"accepted 8, listening 1", true, 1, true, false},
                        {"listening 1, timers 1", false, 1, true, false},
                        {"timers 1", false, 1, false, true},
                        {"timers 3, wakers 2", false, 1, false, true},
                        {"timers 1", true, 1, false, true},  // which the timer interrupted
                        {"timers 3, wakers 2", true, 1, false, true},
                        {"timers 1, others 1", false, 1, true, false},
                        {"wakers 2", false, 1, true, false},
                        {"damaged", false, 1, true, false}}) {
    HandMade hand;
    const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
    const auto other = hand.thread(hand.process(11, "peer"), 11, "peer");
    const auto epoll = hand.object(model::ObjectKind::kPoll, "", 5);
    hand.profile.objects[epoll.value].pid = 10;
    if (row.set != nullptr) hand.profile.meta.facts[model::epoll_set_fact(10, 5)] = row.set;
    model::Wait& wait = hand.wait(thread, hand.stack({hand.frame(hand.module("app"), {"main"})}),
                                  "epoll_wait", 1, 100, 0, epoll);
    wait.result = row.result;
    if (row.woken_by_thread) wait.waker = other;
    const Waits waits(hand.profile, {});
    ASSERT_EQ(waits.rows().size(), 1u);
    EXPECT_EQ(waits.rows()[0].idle.has_value(), row.idle) << (row.set == nullptr ? "" : row.set);
    const KnownWakers wakers(hand.profile, waits.causes());
    EXPECT_EQ(wakers.is_ended_by_timer(hand.profile.waits.back()), row.timer)
        << (row.set == nullptr ? "" : row.set);
  }
}

TEST(KnownWakers, AThreadOfTheSameProcessWakesThroughAnEventfd) {
  HandMade hand;
  const auto process = hand.process(10, "app");
  const auto thread = hand.thread(process, 10, "app"), worker = hand.thread(process, 11, "worker");
  const auto epoll = hand.object(model::ObjectKind::kPoll, "", 5);
  hand.profile.objects[epoll.value].pid = 10;
  hand.profile.meta.facts[model::epoll_set_fact(10, 5)] = "timers 3, wakers 2";
  const auto main = hand.stack({hand.frame(hand.module("app"), {"main"})});
  hand.wait(thread, main, "epoll_wait", 1, 100, 0, epoll).waker = worker;
  EXPECT_TRUE(Waits(hand.profile, {}).rows()[0].idle);
}

TEST(KnownWakers, ASignalThatNoThreadSendsIsAnAlarm) {
  for (const bool sent : {false, true})
    for (const bool unfinished : {false, true}) {
      HandMade hand;
      const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
      model::Wait& wait =
          hand.wait(thread, hand.stack({hand.frame(hand.module("app"), {"main"})}), "pause", 1, 100);
      if (sent) wait.waker = thread;
      wait.unfinished = unfinished;
      const Waits waits(hand.profile, {});
      EXPECT_EQ(waits.rows()[0].idle.has_value(), sent || unfinished) << sent << unfinished;
    }
}

TEST(EpollSet, AsTextIsReadAgain) {
  for (std::uint32_t bits = 0; bits < 64; ++bits) {
    const auto count = [&](int bit) { return (bits >> bit & 1) * (bits + 1); };
    const model::EpollSet set{count(0), count(1), count(2), count(3), count(4), count(5)};
    EXPECT_EQ(model::epoll_set_of(model::to_text(set)), set) << model::to_text(set);
  }
}

}  // namespace
}  // namespace fathom::analysis
