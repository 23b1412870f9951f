// A thread that makes system calls for fathom, and what happens to it if the profiler dies in between.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "attach/inject/stop/target.h"
#include "attach/inject/tracer/testing_hooks.h"

namespace fathom::inject {
namespace {

using testing::TestTarget;

class BorrowedThread : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!testing::may_trace()) GTEST_SKIP() << "ptrace is not allowed here";
  }
};

TEST_P(BorrowedThread, MakesCallsAndIsRestored) {
  TestTarget target(GetParam(), {"storm", "1"});
  ASSERT_TRUE(target.ready());
  auto process = Target::open(target.pid());
  ASSERT_OK(process);
  ASSERT_OK(process->borrow_thread([&](StoppedThread&, RemoteCaller& caller) -> Result<> {
    const auto answer = caller.call("getpid", SYS_getpid, {});
    EXPECT_EQ(answer.value_or(0), static_cast<std::uint64_t>(target.pid()));
    const auto refused = caller.call("close", SYS_close, {~std::uint64_t{0}});
    EXPECT_FALSE(refused.has_value());
    return {};
  }));
  EXPECT_EQ(target.end(), 0);
}

// While fathom waits for it, it has priority over the ordinary threads of a busy machine.
TEST_P(BorrowedThread, KeepsItsPriority) {
  TestTarget target(GetParam(), {"waits", "3"});
  ASSERT_TRUE(target.ready());
  auto process = Target::open(target.pid());
  ASSERT_OK(process);
  const auto tids = by_idleness(target.pid());
  const sched_param none{};
  ASSERT_EQ(::setpriority(PRIO_PROCESS, static_cast<id_t>(tids[0]), 7), 0);
  ASSERT_EQ(::sched_setscheduler(tids[1], SCHED_BATCH, &none), 0);
  // The test may have been started with another priority, which all its processes inherit.
  ASSERT_EQ(::setpriority(PRIO_PROCESS, static_cast<id_t>(tids[2]), 0), 0);
  const auto maps = process::read_maps(target.pid()).value();
  for (const int tid : tids) {
    const int policy = ::sched_getscheduler(tid), nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(tid));
    auto done = in_tracing_thread([&]() -> Result<> {
      auto stopped = StoppedThreads::one(target.pid(), tid, process->memory, process->stops, 0);
      if (!stopped) return tl::unexpected<Error>(stopped.error());
      auto caller = RemoteCaller::borrow(stopped->threads()[0], process->memory, process->gadgets, maps);
      if (!caller) return tl::unexpected<Error>(caller.error());
      if (tid == tids[1]) {
        EXPECT_EQ(::sched_getscheduler(tid), SCHED_BATCH) << "one that chose for itself is left alone";
      }
      if (tid == tids[2] && ::geteuid() == 0) {
        EXPECT_EQ(::sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK, SCHED_FIFO);
      }
      return {};
    });
    ASSERT_OK(done);
    EXPECT_EQ(::sched_getscheduler(tid), policy);
    EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(tid)), nice);
  }
  Stops stops;
  ASSERT_OK(in_tracing_thread([&]() -> Result<> {
    auto stopped = StoppedThreads::all(target.pid(), process->memory, stops);
    if (!stopped) return tl::unexpected<Error>(stopped.error());
    return {};
  }));
  for (const int tid : tids)
    EXPECT_EQ(::sched_getscheduler(tid), tid == tids[1] ? SCHED_BATCH : SCHED_OTHER) << tid;
}

// Every thread of the target in turn, killed after every number of calls: the kernel resumes it with borrowed
// registers.
TEST_P(BorrowedThread, ReturnsToItsCodeIfTheProfilerDies) {
  for (const char* mode : {"waits", "storm"}) {
    TestTarget target(GetParam(), {mode, "3"});
    ASSERT_TRUE(target.ready());
    const auto process = Target::open(target.pid());
    ASSERT_OK(process);
    ASSERT_TRUE(process->gadgets.way_back.has_value());
    const auto maps = process::read_maps(target.pid()).value();
    const auto tids = by_idleness(target.pid());
    for (const int tid : tids)
      for (int calls = 0; calls < 3; ++calls) {
        // If other programs take the CPUs, a thread may not stop in time.
        constexpr int kNotStopped = 1;
        int status = 0;
        for (int attempt = 0; attempt < 5; ++attempt) {
          const pid_t child = ::fork();
          if (child == 0) {
            Stops stops;
            auto stopped = StoppedThreads::one(target.pid(), tid, process->memory, stops, 0);
            if (!stopped) ::_exit(kNotStopped);
            auto caller =
                RemoteCaller::borrow(stopped->threads()[0], process->memory, process->gadgets, maps);
            if (!caller) ::_exit(2);
            for (int i = 0; i < calls; ++i)
              if (!caller->call("getpid", SYS_getpid, {})) ::_exit(3);
            ::kill(::getpid(), SIGKILL);
          }
          ::waitpid(child, &status, 0);
          if (!WIFEXITED(status) || WEXITSTATUS(status) != kNotStopped) break;
        }
        ASSERT_TRUE(WIFSIGNALED(status)) << "the child came to " << WEXITSTATUS(status);
        ASSERT_TRUE(testing::wait_until(
            [&] { return !target.alive() || process::read_stat(target.pid())->state != 't'; }));
        // It has become an ordinary thread again, without help: otherwise it would keep a CPU to itself.
        ASSERT_TRUE(testing::wait_until([&] {
          return (::sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER;
        })) << mode
            << ", thread " << tid << ", after " << calls << " calls";
        ASSERT_TRUE(target.alive()) << mode << ", thread " << tid << ", after " << calls << " calls";
      }
    const auto taken = testing::load(target.board().taken), rounds = testing::load(target.board().rounds[1]);
    EXPECT_TRUE(testing::wait_until([&] {
      return testing::load(target.board().taken) > taken || testing::load(target.board().rounds[1]) > rounds;
    }));
    EXPECT_EQ(testing::load(target.board().broken), 0U);
    if (std::string_view(mode) == "storm") {
      EXPECT_EQ(target.end(), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, BorrowedThread,
                         ::testing::Values(TARGET_DYNAMIC, TARGET_STATIC_PIE, TARGET_STATIC, TARGET_MUSL),
                         testing::program_name);

}  // namespace
}  // namespace fathom::inject
