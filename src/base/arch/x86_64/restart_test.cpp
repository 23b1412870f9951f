// What a stopped thread is given to go on with: rules without a process.
#include "base/arch/restart.h"

#include <gtest/gtest.h>

namespace fathom::arch {
namespace {

TEST(Restart, EpollWaitThatWasStoppedBeginsAgain) {
  user_regs_struct registers{};
  registers.orig_rax = SYS_epoll_wait;
  registers.rax = static_cast<unsigned long long>(-EINTR);
  registers.rip = 0x1002;
  ASSERT_TRUE(ended_by_stop(registers));
  start_again(registers);
  EXPECT_EQ(registers.rip, 0x1000U);
  EXPECT_EQ(registers.rax, static_cast<unsigned long long>(SYS_epoll_wait));
  EXPECT_FALSE(ended_by_stop(registers));
}

TEST(Restart, OtherResultsAndCallsAreLeftAlone) {
  user_regs_struct registers{};
  registers.orig_rax = SYS_epoll_wait;
  registers.rax = 1;
  EXPECT_FALSE(ended_by_stop(registers));
  registers.orig_rax = SYS_read;
  registers.rax = static_cast<unsigned long long>(-EINTR);
  EXPECT_FALSE(ended_by_stop(registers)) << "read is restarted by the kernel; this EINTR is a handler's";
}

TEST(Restart, AFrameShowsTheCallBeforeItBegan) {
  user_regs_struct registers{};
  registers.orig_rax = SYS_nanosleep;
  registers.rax = static_cast<unsigned long long>(-516);  // ERESTART_RESTARTBLOCK
  registers.rip = 0x2002;
  EXPECT_EQ(as_in_user_mode(registers).rip, 0x2000U);
  EXPECT_EQ(as_in_user_mode(registers).rax, static_cast<unsigned long long>(SYS_nanosleep));
  registers.orig_rax = static_cast<unsigned long long>(-1);  // it was running
  EXPECT_EQ(as_in_user_mode(registers).rip, 0x2002U);
}

}  // namespace
}  // namespace fathom::arch
