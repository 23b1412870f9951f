#include "record/session/budgeted_urgency.h"

#include <gtest/gtest.h>

#include <thread>

namespace fathom::session {
namespace {

void burn(std::uint64_t cpu_ns) {
  const std::uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until) continue;
}

// Real time belongs to a thread of its own here, as it is never given back.
TEST(BudgetedUrgency, AThreadThatUsesUpItsBudgetIsAnOrdinaryOneUntilTheWindowIsOver) {
  std::thread([] {
    BudgetedUrgency urgency;
    if (!urgency.raised()) GTEST_SKIP() << "real-time priority is not allowed here";
    EXPECT_EQ(::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_RR);
    burn(BudgetedUrgency::kBudgetNs);
    urgency.account();
    // On a machine that is not ours alone the window may have ended by itself.
    for (int i = 0; i < 5 && urgency.raised(); ++i) {
      burn(BudgetedUrgency::kBudgetNs);
      urgency.account();
    }
    EXPECT_FALSE(urgency.raised());
    EXPECT_EQ(::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
    std::this_thread::sleep_for(std::chrono::nanoseconds(BudgetedUrgency::kWindowNs));
    urgency.account();
    EXPECT_TRUE(urgency.raised());
  }).join();
}

}  // namespace
}  // namespace fathom::session
