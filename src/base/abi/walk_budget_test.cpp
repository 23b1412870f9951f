// How many waits are walked, for CPUs and threads that switch at any rate: counted as the sum of the chances that each
// switch had, so nothing here is left to chance.
#include "base/abi/walk_budget.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

constexpr u32 kBudget = 200;  // of a CPU at 999 Hz: 2,000 walks a second
constexpr u64 kWindow = WALK_WINDOW_NS;

constexpr double kRounding = 1e-6;  // of many small chances

using Adapt = u32 (*)(walk_rate*, u32, u64);

class Switches {
 public:
  explicit Switches(Adapt rule) : adapt_(rule) {}

  // The walks that are expected in one window more, with so many switches in it.
  double in_a_window(u32 switches) {
    double walks = 0;
    for (u32 i = 0; i < switches; ++i) {
      const u32 one_in = adapt_(&rate_, kBudget, now_ + kWindow * i / switches);
      EXPECT_NE(one_in, 0u);
      walks += 1.0 / one_in;
    }
    now_ += kWindow + 1;
    return walks;
  }
  // Once as many have been there for a while.
  double settled(u32 switches) {
    for (int i = 0; i < 3; ++i) in_a_window(switches);
    return in_a_window(switches);
  }
  void pause(u64 windows) { now_ += windows * kWindow; }

 private:
  Adapt adapt_;
  walk_rate rate_{};
  u64 now_ = 1000 * kWindow;
};

Switches cpu() {
  return Switches([](walk_rate* rate, u32 budget, u64 now) { return adapt_walks_on_cpu(rate, budget, now); });
}
Switches thread() {
  return Switches([](walk_rate* rate, u32 budget, u64 now) { return adapt_walks(rate, budget, now); });
}

TEST(WalkBudget, ACpuWithRoomHasAllOfItsWaitsWalked) {
  for (const u32 switches : {1u, 10u, kBudget, kBudget * 3 / 2, 2 * kBudget - 1})
    EXPECT_EQ(cpu().settled(switches), switches);
}

TEST(WalkBudget, AFullCpuHasAQuarterOfItsBudgetWalked) {
  for (const u32 times : {4u, 5u, 7u, 10u, 50u, 500u}) {
    const double walks = cpu().settled(times * kBudget);
    EXPECT_GE(walks, 0.25 * kBudget - kRounding) << times << " times the budget";
    // One in so many is a whole number: between four and five times the budget it is still one in four.
    EXPECT_LE(walks, 0.25 * kBudget * (times + 1) / times + kRounding) << times << " times the budget";
  }
  EXPECT_LT(cpu().settled(5 * kBudget - 1), 0.32 * kBudget);
}

TEST(WalkBudget, InBetweenTheWalksBecomeFewer) {
  for (u32 switches = 2 * kBudget; switches <= 4 * kBudget; switches += 10) {
    const double walks = cpu().settled(switches);
    EXPECT_GE(walks, 0.25 * kBudget - kRounding) << switches;
    EXPECT_LE(walks, 0.75 * kBudget + kRounding) << switches;
  }
}

TEST(WalkBudget, AThreadHasItsBudgetWalkedHoweverOftenItSwitches) {
  for (const u32 times : {1u, 2u, 4u, 50u, 500u}) {
    EXPECT_GE(thread().settled(times * kBudget), kBudget - kRounding) << times;
    EXPECT_LE(thread().settled(times * kBudget + kBudget - 1), 2 * kBudget + kRounding) << times;
  }
}

TEST(WalkBudget, HoldsInTheWindowInWhichSwitchesBecomeMany) {
  for (const u32 switches : {3 * kBudget, 10 * kBudget, 1000 * kBudget}) {
    Switches on_cpu = cpu(), of_thread = thread();
    // Twice the budget before anything is known, then a budget (of a CPU a quarter of one, and half of one at first) with
    // each doubling of the switches: nine of them up to a thousand times the budget.
    EXPECT_LE(on_cpu.in_a_window(switches), (2 + 0.5 + 8 * 0.25) * kBudget + kRounding) << switches;
    EXPECT_LE(of_thread.in_a_window(switches), (2 + 9) * kBudget + kRounding) << switches;
  }
}

TEST(WalkBudget, AllIsWalkedAgainOnceSwitchesAreFew) {
  for (const u64 pause : {0, 1, 2, 1000}) {
    Switches waits = cpu();
    waits.settled(100 * kBudget);
    waits.pause(pause);
    waits.in_a_window(10);  // may still be thinned out: it is not known yet that they are few
    EXPECT_EQ(waits.in_a_window(10), 10) << pause;
  }
}

}  // namespace
}  // namespace fathom
