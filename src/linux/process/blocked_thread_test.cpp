#include "linux/process/blocked_thread.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

namespace fathom::sources {
namespace {

TEST(BlockedThread, SystemCallArgumentsAndRegisters) {
  const auto thread = parse_blocked_thread("7 0x1 0x2 0x3 0xffffffffffffffff 0x0 0x6 0x7ffd0010 0x401234\n");
  ASSERT_TRUE(thread && *thread);
  BlockedThread expected;
  expected.system_call = 7;
  expected.arguments = {1, 2, 3, UINT64_MAX, 0, 6};
  expected.stack_pointer = 0x7ffd0010;
  expected.instruction_pointer = 0x401234;
  EXPECT_EQ(**thread, expected);
}

TEST(BlockedThread, OutsideOfASystemCallThereAreRegistersOnly) {
  const auto thread = parse_blocked_thread("-1 0x7ffd0010 0x401234\n");
  ASSERT_TRUE(thread && *thread);
  EXPECT_EQ((*thread)->system_call, -1);
  EXPECT_EQ((*thread)->stack_pointer, 0x7ffd0010u);
  EXPECT_EQ((*thread)->instruction_pointer, 0x401234u);
}

TEST(BlockedThread, OneThatRunsIsNotBlocked) {
  const auto thread = parse_blocked_thread("running\n");
  ASSERT_TRUE(thread);
  EXPECT_FALSE(*thread);
}

TEST(BlockedThread, AnythingElseIsRefused) {
  for (const char* text : {"", "x", "7 0x1 0x2 0x3 0x4 0x5 0x6 0x7\n", "7 1 2 3 4 5 6 7 8\n", "-1 0x1\n",
                           "99999999999 0x1 0x1\n", "7 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x12345678901234567\n"})
    EXPECT_EQ(parse_blocked_thread(text).error().kind, ErrorKind::kMalformed) << text;
}

TEST(BlockedThread, TheKernelsFunctionNamesTheCallThatARestartContinues) {
  EXPECT_EQ(continued_call("hrtimer_nanosleep"), SYS_clock_nanosleep);
  EXPECT_EQ(continued_call("alarm_timer_nsleep"), SYS_clock_nanosleep);
  EXPECT_EQ(continued_call("futex_do_wait"), SYS_futex);
  EXPECT_EQ(continued_call("do_sys_poll"), SYS_ppoll);
  EXPECT_EQ(continued_call("0"), SYS_restart_syscall) << "this user may not see it";
}

// Asked without the code under test, so that a file that it never opens is a failure.
bool calls_are_shown(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/syscall");
  return file.get() != EOF;
}
#define NEEDS_CALLS_OF(pid) \
  if (!calls_are_shown(pid)) GTEST_SKIP() << "no /proc/PID/syscall here"

// A child that blocks in poll with unique arguments and with a mark on its stack.
class Sleeper {
 public:
  static constexpr std::uint64_t kMark = 0x5f4a3b2c1d0e9f8a;
  static constexpr int kTimeout = 1'234'567;

  Sleeper() {
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    block();
    ::_exit(0);
  }
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }

  Result<std::optional<BlockedThread>> read(std::size_t stack_bytes) const {
    for (int attempt = 0; attempt < 1000; ++attempt) {
      auto thread = read_blocked_thread(pid_, pid_, stack_bytes);
      if (!thread || (*thread && (*thread)->system_call == SYS_poll)) return thread;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return std::optional<BlockedThread>();
  }

 private:
  [[gnu::noinline]] static void block() {
    volatile std::uint64_t marks[2] = {kMark, ~kMark};
    ::poll(nullptr, 0, kTimeout);
    marks[0] = marks[1];
  }
  pid_t pid_;
};

TEST(BlockedThread, IsFoundInItsCallWithItsStack) {
  const Sleeper sleeper;
  NEEDS_CALLS_OF(sleeper.pid());
  const auto found = sleeper.read(16 * 1024);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(*found);
  const BlockedThread& thread = **found;
  EXPECT_EQ(thread.arguments[1], 0u);
  EXPECT_EQ(thread.arguments[2], static_cast<std::uint64_t>(Sleeper::kTimeout));
  ASSERT_GE(thread.stack.size(), 512u);
  bool marked = false;
  for (std::size_t at = 0; at + 16 <= thread.stack.size(); at += 8) {
    std::uint64_t words[2];
    std::memcpy(words, thread.stack.data() + at, sizeof(words));
    marked = marked || (words[0] == Sleeper::kMark && words[1] == ~Sleeper::kMark);
  }
  EXPECT_TRUE(marked);
  // syscall (0f 05) is the instruction before the one at which the thread goes on; the code is also ours.
  const auto* code = reinterpret_cast<const unsigned char*>(thread.instruction_pointer);
  EXPECT_EQ(code[-2], 0x0f);
  EXPECT_EQ(code[-1], 0x05);
}

TEST(BlockedThread, AStopInTheMiddleOfACallHidesNothing) {
  const Sleeper sleeper;
  NEEDS_CALLS_OF(sleeper.pid());
  ASSERT_TRUE(sleeper.read(0));
  ::kill(sleeper.pid(), SIGSTOP);
  int status = 0;
  ::waitpid(sleeper.pid(), &status, WUNTRACED);
  ::kill(sleeper.pid(), SIGCONT);
  const auto waits_in = [&] {
    std::ifstream file("/proc/" + std::to_string(sleeper.pid()) + "/wchan");
    std::string function;
    file >> function;
    return function;
  };
  int attempts = 1000;
  while (waits_in().find("poll") == std::string::npos && --attempts > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (attempts == 0) GTEST_SKIP() << "no /proc/PID/syscall here";
  const auto thread = read_blocked_thread(sleeper.pid(), sleeper.pid(), 0);
  ASSERT_TRUE(thread && *thread);
  const std::int32_t call = (*thread)->system_call;
  EXPECT_TRUE(call == SYS_poll || call == SYS_ppoll) << call << ": it goes on by restart_syscall";
}

TEST(BlockedThread, NoMoreOfTheStackThanThereIs) {
  const Sleeper sleeper;
  NEEDS_CALLS_OF(sleeper.pid());
  const auto little = sleeper.read(64);
  ASSERT_TRUE(little) << little.error().message;
  ASSERT_TRUE(*little);
  EXPECT_EQ((*little)->stack.size(), 64u);
  EXPECT_FALSE((*little)->stack_ends);
  const auto all = sleeper.read(16 << 20);
  ASSERT_TRUE(all && *all);
  EXPECT_TRUE((*all)->stack_ends);
  // A stack ends with its mapping.
  EXPECT_EQ(((*all)->stack_pointer + (*all)->stack.size()) % 4096, 0u);
  EXPECT_EQ(std::memcmp((*all)->stack.data(), (*little)->stack.data(), 64), 0);
  const auto none = sleeper.read(0);
  ASSERT_TRUE(none && *none);
  EXPECT_TRUE((*none)->stack.empty());
}

TEST(BlockedThread, OneThatIsBusyOrGoneHasNone) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile int i = 0;;) i = i + 1;
  }
  NEEDS_CALLS_OF(child);
  auto file = BlockedThreadFile::open(child, child);
  ASSERT_TRUE(file) << file.error().message;
  const auto busy = file->read(4096);
  ASSERT_TRUE(busy) << busy.error().message;
  EXPECT_FALSE(*busy);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(file->read(4096).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(BlockedThreadFile::open(child, child).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::sources
