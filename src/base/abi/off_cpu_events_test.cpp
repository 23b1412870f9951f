#include "base/abi/off_cpu_events.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(KeptTaskState, OnlyAThreadThatWantsToRunIsPreempted) {
  EXPECT_EQ(kept_task_state(0), 0);
  // Kernels have one bit for each of these.
  for (u32 bit = 0; bit < 32; ++bit) EXPECT_NE(kept_task_state(u32{1} << bit), 0) << bit;
}

TEST(KeptTaskState, TheLowBitsStay) {
  EXPECT_EQ(kept_task_state(0x2001), 1) << "interruptible, and may be frozen there";
  EXPECT_EQ(kept_task_state(0x102), 2) << "killable";
  EXPECT_EQ(kept_task_state(0x104), 4);
  EXPECT_EQ(kept_task_state(0x108), 8);
}

TEST(KeptTaskState, HighBitsAloneAreAFrozenThreadOrOneThatSleepsForASpinlock) {
  EXPECT_EQ(kept_task_state(0x8000), 4);
  EXPECT_EQ(kept_task_state(0x1000), 2);
}

}  // namespace
}  // namespace fathom
