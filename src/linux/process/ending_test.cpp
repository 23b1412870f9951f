#include "linux/process/ending.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fathom::process {
namespace {

TEST(Ending, InWords) {
  EXPECT_EQ(ending_in_words(std::nullopt), "ended");
  EXPECT_EQ(ending_in_words(0), "exited with status 0");
  EXPECT_EQ(ending_in_words(3 << 8), "exited with status 3");
  EXPECT_EQ(ending_in_words(9), "killed by signal 9 (SIGKILL)");
  EXPECT_EQ(ending_in_words(11 | 0x80), "killed by signal 11 (SIGSEGV)") << "with a core file";
}

TEST(Ending, OfAZombieIsInItsStat) {
  std::string stat = "7 (a ) Z b) Z 1";
  for (int field = 5; field <= 51; ++field) stat += " 0";
  EXPECT_EQ(parse_exit_code(stat + " 256\n"), 256);
  EXPECT_FALSE(parse_exit_code(stat)) << "cut short";
  EXPECT_FALSE(parse_exit_code("7 (x) S 1 256"));
  EXPECT_FALSE(parse_exit_code(""));
}

TEST(Ending, OfAChildThatWasKilled) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  const Ending ending(child);
  EXPECT_FALSE(ending.has_ended());
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(ending.has_ended());
  EXPECT_EQ(ending.words(), "killed by signal 9 (SIGKILL)");
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(ending.has_ended());
  // After that only newer kernels know.
  const std::string words = ending.words();
  EXPECT_TRUE(words == "killed by signal 9 (SIGKILL)" || words == "ended") << words;
}

TEST(Ending, OfAForeignChildIsKnownUntilItIsReaped) {
  for (const int signal : {SIGKILL, SIGTERM, 0}) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (signal == 0) ::_exit(0);
      for (;;) ::pause();
    }
    const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    ASSERT_TRUE(pidfd);
    if (signal != 0) ::kill(child, signal);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    const auto before = wait_status(pidfd.get(), child);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    // The kernel shows only to root how a process ended before its parent waits for it.
    EXPECT_EQ(before.value_or(::geteuid() == 0 ? -1 : status), status);
    // Old kernels do not know it any more, and say nothing rather than what is wrong.
    EXPECT_EQ(wait_status(pidfd.get(), child).value_or(status), status);
  }
}

}  // namespace
}  // namespace fathom::process
