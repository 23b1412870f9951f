#include "linux/process/guardian_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/clock.h"

namespace fathom::process {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

struct Order {
  char end = 0;
};
struct Long {
  char bytes[64] = {};
};

[[noreturn]] void ends_when_told() {
  Order order;
  ::_exit(GuardianProcess::hear(order) && order.end == 1 ? 0 : 3);
}

// Like a guardian that is stopped, or blocked in a system call.
[[noreturn]] void ends_never() {
  for (;;) ::pause();
}

TEST(GuardianProcess, AMessageOfAnotherLengthIsNone) {
  auto guardian = GuardianProcess::start("a test", ends_when_told);
  ASSERT_TRUE(guardian) << guardian.error().message;
  Long message;
  message.bytes[0] = 1;  // cut to its beginning it would be the order
  ASSERT_TRUE(guardian->tell(message));
  int status = 0;
  ASSERT_EQ(::waitpid(guardian->pid(), &status, 0), guardian->pid());
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST(GuardianProcess, OneThatDoesNotEndIsNotWaitedForForEver) {
  auto guardian = GuardianProcess::start("a test", ends_never);
  ASSERT_TRUE(guardian) << guardian.error().message;
  const pid_t pid = guardian->pid();
  const std::uint64_t begun = monotonic_ns();
  guardian->dismiss(Order{1});
  EXPECT_LT(monotonic_ns() - begun, 60 * kSecond);
  EXPECT_EQ(::kill(pid, 0), -1) << "nothing of it is left";
}

TEST(GuardianProcess, OneThatEndsOnRequestIsDismissedAtOnce) {
  auto guardian = GuardianProcess::start("a test", ends_when_told);
  ASSERT_TRUE(guardian) << guardian.error().message;
  guardian->dismiss(Order{1});
  EXPECT_LT(guardian->pid(), 0);
}

}  // namespace
}  // namespace fathom::process
