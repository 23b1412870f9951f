#include "model/system_call.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <set>
#include <string_view>

namespace fathom::model {
namespace {

TEST(SystemCall, NumbersOfTheKernelHaveTheirNames) {
  EXPECT_EQ(system_call_name(SYS_read), "read");
  EXPECT_EQ(system_call_name(SYS_futex), "futex");
  EXPECT_EQ(system_call_name(SYS_epoll_wait), "epoll_wait");
  EXPECT_EQ(system_call_name(SYS_clock_nanosleep), "clock_nanosleep");
  EXPECT_EQ(system_call_name(SYS_wait4), "wait4");
  EXPECT_EQ(system_call_name(SYS_io_uring_enter), "io_uring_enter");
  EXPECT_EQ(system_call_name(449), "futex_waitv");
}

TEST(SystemCall, UnknownNumberHasNoName) {
  for (const std::int32_t number : {-1, -2, 335, 423, 1'000'000, INT32_MIN, INT32_MAX}) {
    EXPECT_EQ(system_call_name(number), "") << number;
    EXPECT_FALSE(takes_descriptor(number)) << number;
  }
}

// They are found by halving, so one row out of order would hide others.
TEST(SystemCall, EveryNumberOfTheTwoRangesInUseHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (std::int32_t number = 0; number <= 334; ++number) names.insert(system_call_name(number));
  for (std::int32_t number = 424; number <= 450; ++number) names.insert(system_call_name(number));
  EXPECT_FALSE(names.contains(""));
  EXPECT_EQ(names.size(), 335u + 27u);
}

TEST(SystemCall, KnowsWhichBeginWithADescriptor) {
  for (const auto number :
       {SYS_read, SYS_pwrite64, SYS_fdatasync, SYS_recvmsg, SYS_epoll_wait, SYS_io_uring_enter, SYS_accept4})
    EXPECT_TRUE(takes_descriptor(static_cast<std::int32_t>(number))) << number;
  for (const auto number :
       {SYS_futex, SYS_poll, SYS_select, SYS_nanosleep, SYS_wait4, SYS_openat, SYS_msync, SYS_mmap})
    EXPECT_FALSE(takes_descriptor(static_cast<std::int32_t>(number))) << number;
}

TEST(SystemCall, KnowsWhichReturnANumberOfBytes) {
  for (const auto number : {SYS_read, SYS_pwrite64, SYS_readv, SYS_recvfrom, SYS_sendmsg, SYS_preadv2})
    EXPECT_TRUE(moves_bytes(static_cast<std::int32_t>(number))) << number;
  for (const auto number : {SYS_fsync, SYS_poll, SYS_futex, SYS_recvmmsg, SYS_mmap})
    EXPECT_FALSE(moves_bytes(static_cast<std::int32_t>(number))) << number;
  EXPECT_FALSE(moves_bytes(-1));
}

}  // namespace
}  // namespace fathom::model
