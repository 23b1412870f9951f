#include "record/session/waits/blocked_walk.h"

#include <alloca.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/abi/walk.h"
#include "base/clock.h"
#include "base/sanitized.h"

namespace fathom::session {
namespace {

class NoWaitWalker final : public WalkerControl {
 public:
  void set_mappings(std::int32_t, std::span<const unwind_mapping>, std::uint32_t) override {}
  void forget(std::int32_t) override {}
  std::uint32_t epoch_after_exec(std::int32_t, std::uint32_t known) override { return known + 1; }
};

// A child that goes to sleep in `body`. Its code lies where ours does.
class Target {
 public:
  template <class Body>
  explicit Target(Body body) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    body();
    ::_exit(0);
  }
  ~Target() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

class BlockedWalkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file("/proc/self/syscall");
    if (file.get() == EOF) GTEST_SKIP() << "no /proc/PID/syscall here";
  }
  std::optional<BlockedWait> walk_when_blocked(pid_t pid, std::int32_t system_call) {
    BlockedWalker walker(processes_);
    for (int attempt = 0; attempt < 1000; ++attempt) {
      if (!processes_.read_from_proc(pid)) break;
      auto found = walker.walk(pid, pid, 42);
      if (found && found->wait.system_call == system_call) return found;
      walker.forget(pid);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return std::nullopt;
  }

  model::Profile profile_;
  model::Builder builder_{profile_};
  symbolize::Worker symbols_{{}};
  ModuleCatalog modules_{builder_, symbols_, {}};
  NoWaitWalker control_;
  ProcessTable processes_{profile_, modules_, control_, true};
};

// The calls are followed by something, so that they are no jumps.
volatile int g_after;

[[gnu::noinline]] void sleep_in_poll() {
  ::poll(nullptr, 0, 600'000);
  g_after = 1;
}
[[gnu::noinline]] void deep_work(int depth) {
  if (depth == 0)
    sleep_in_poll();
  else
    deep_work(depth - 1);
  g_after = depth;
}
[[gnu::noinline]] void large_frame(int depth) {
  volatile char buffer[60'000];
  buffer[0] = static_cast<char>(depth);
  if (depth == 0)
    sleep_in_poll();
  else
    large_frame(depth - 1);
  g_after = buffer[0];
}
// alloca makes the compiler count this frame from rbp, and poll() saves no rbp where there is one thread
// only.
[[gnu::noinline]] void frame_of_unknown_size(int size) {
  auto* bytes = static_cast<volatile char*>(alloca(static_cast<std::size_t>(size)));
  bytes[0] = 1;
  ::poll(nullptr, 0, 600'000);
  g_after = bytes[0];
}
[[gnu::noinline]] void caller_of_unknown_size(int size) {
  frame_of_unknown_size(size);
  g_after = 2;
}

std::size_t frames_in(const sources::StackSeen& stack, void (*function)(int), std::uint64_t size = 160) {
  const auto start = reinterpret_cast<std::uint64_t>(function);
  return static_cast<std::size_t>(std::count_if(
      stack.user.begin(), stack.user.end(), [&](std::uint64_t a) { return a > start && a <= start + size; }));
}

TEST_F(BlockedWalkTest, FindsTheWaitAndAllItsFrames) {
  const Target target([] { deep_work(20); });
  const auto found = walk_when_blocked(target.pid(), SYS_poll);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stack.end, WALK_ROOT);
  EXPECT_EQ(found->stack.pid, target.pid());
  EXPECT_EQ(found->stack.time_ns, 42u);
  EXPECT_NE(found->stack.user.front() & WALK_EXACT, 0u);
  EXPECT_EQ(frames_in(found->stack, deep_work), 21u);
  EXPECT_EQ(found->wait.stack_id, found->stack.stack_id);
  EXPECT_EQ(found->wait.tid, target.pid());
  EXPECT_EQ(found->wait.out_ns, 42u);
  EXPECT_EQ(found->wait.arguments[2], 600'000u);
  EXPECT_TRUE(found->wait.began_before);
  if (::geteuid() == 0 && ::access("/proc/self/stack", R_OK) == 0) {
    EXPECT_FALSE(found->stack.kernel.empty());
  }
}

TEST_F(BlockedWalkTest, CopiesMoreWhereFramesAreLarge) {
#if FATHOM_ADDRESS_SANITIZER
  GTEST_SKIP() << "the sanitizer keeps large frames away from the stack";
#endif
  const Target target([] { large_frame(2); });
  const auto found = walk_when_blocked(target.pid(), SYS_poll);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stack.end, WALK_ROOT);
  EXPECT_EQ(frames_in(found->stack, large_frame, 400), 3u);
}

TEST_F(BlockedWalkTest, FindsAFramePointerThatNothingHasSaved) {
  const Target target([] { caller_of_unknown_size(3000); });
  const auto found = walk_when_blocked(target.pid(), SYS_poll);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stack.end, WALK_ROOT);
  const auto size = reinterpret_cast<std::uint64_t>(caller_of_unknown_size) -
                    reinterpret_cast<std::uint64_t>(frame_of_unknown_size);
  EXPECT_EQ(frames_in(found->stack, frame_of_unknown_size, std::min<std::uint64_t>(size, 160)), 1u);
  EXPECT_EQ(frames_in(found->stack, caller_of_unknown_size, 64), 1u);
}

TEST_F(BlockedWalkTest, ReportsTheFileBehindADescriptor) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Target target([&] {
    char byte;
    if (::read(ends[0], &byte, 1) < 0) ::_exit(1);
  });
  const auto found = walk_when_blocked(target.pid(), SYS_read);
  ASSERT_TRUE(found);
  struct stat status {};
  ASSERT_EQ(::fstat(ends[0], &status), 0);
  EXPECT_EQ(found->wait.inode, status.st_ino);
  EXPECT_EQ(found->wait.file_mode, static_cast<std::uint32_t>(S_IFIFO));
}

TEST_F(BlockedWalkTest, NothingForAThreadThatIsGone) {
  pid_t pid = 0;
  {
    const Target target([] { deep_work(1); });
    pid = target.pid();
  }
  EXPECT_FALSE(BlockedWalker(processes_).walk(pid, pid, 0));
}

}  // namespace
}  // namespace fathom::session
