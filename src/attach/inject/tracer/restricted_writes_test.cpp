// A kernel that refuses writes through /proc/PID/mem (proc_mem.force_override=never, and stricter: here it
// refuses all): every write uses ptrace, with a stopped thread of the target.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <iostream>

#include "attach/inject/tracer/stale_tracer.h"
#include "attach/inject/tracer/testing_hooks.h"

namespace fathom::inject {
namespace {

using testing::CountingOptions;
using testing::TestTarget;

void refuse_pwrite() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {.len = std::size(filter), .filter = filter};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

class RestrictedWrites : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!testing::may_trace()) GTEST_SKIP() << "ptrace is not allowed here";
  }
  // The filter cannot be removed, so it is set in a child.
  static void in_child(const std::function<void()>& part) {
    std::cout.flush();
    const pid_t child = ::fork();
    if (child == 0) {
      refuse_pwrite();
      part();
      std::cout.flush();
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "see above";
  }
};

TEST_P(RestrictedWrites, HooksGoInAndComeOut) {
  TestTarget target(GetParam(), {"storm", "2"});
  ASSERT_TRUE(target.ready());
  const auto text = target.text_bytes();
  const auto mappings = target.mappings();
  in_child([&] {
    ASSERT_FALSE(kernel_forces_writes());
    const CountingOptions counting;
    for (const auto& hooks : {testing::slot_hooks(target), testing::entry_hooks(target)}) {
      auto tracer = Tracer::place(target.pid(), counting.options);
      ASSERT_OK(tracer);
      ASSERT_OK(tracer->hook(tracer->plan(hooks)));
      EXPECT_TRUE(testing::wait_until([&] { return testing::counted(*tracer, TRACER_MALLOC, 0) > 1000; }));
      EXPECT_TRUE(testing::wait_until([&] { return testing::counted(*tracer, TRACER_FREE, 0) > 1000; }));
      ASSERT_OK(tracer->unhook());
      const auto unmapped = tracer->unmap();
      ASSERT_OK(unmapped);
      EXPECT_TRUE(*unmapped);
    }
  });
  EXPECT_EQ(target.text_bytes(), text);
  EXPECT_EQ(target.mappings(), mappings);
  EXPECT_EQ(target.end(), 0);
}

TEST_P(RestrictedWrites, RemainsOfAKilledProfilerAreRemoved) {
  TestTarget target(GetParam(), {"storm", "2"});
  ASSERT_TRUE(target.ready());
  const auto text = target.text_bytes();
  const auto mappings = target.mappings();
  const pid_t profiler = ::fork();
  if (profiler == 0) {
    refuse_pwrite();
    const CountingOptions counting;
    auto tracer = Tracer::place(target.pid(), counting.options);
    auto hooks = testing::slot_hooks(target);
    hooks[0] = testing::entry_hooks(target)[0];
    if (!tracer || !tracer->hook(tracer->plan(hooks))) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(profiler, &status, 0), profiler);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the hooks did not come in";
  in_child([&] {
    const auto restored = detach_stale_tracer(target.pid());
    ASSERT_OK(restored);
    EXPECT_THAT(*restored, ::testing::HasSubstr("1 slots and 1 function starts restored"));
    ASSERT_TRUE(testing::wait_until(
        [&] { return !holder(target.pid()) || detach_stale_tracer(target.pid()).has_value(); }));
  });
  EXPECT_EQ(target.text_bytes(), text);
  EXPECT_EQ(target.mappings(), mappings);
  EXPECT_EQ(target.end(), 0);
}

// No thread of the process is stopped, so ptrace refuses as well, and the error is the kernel's.
TEST_P(RestrictedWrites, NothingIsWrittenWithoutAStoppedThread) {
  TestTarget target(GetParam(), {"idle"});
  ASSERT_TRUE(target.ready());
  in_child([&] {
    const auto memory = RemoteMemory::open(target.pid()).value();
    const auto done = memory.put<std::uint64_t>(target.function("target_take").address, 0);
    ASSERT_FALSE(done.has_value());
    EXPECT_THAT(done.error().message, ::testing::HasSubstr("Input/output error"));
  });
  EXPECT_EQ(target.end(), 0);
}

INSTANTIATE_TEST_SUITE_P(Targets, RestrictedWrites, ::testing::Values(TARGET_DYNAMIC, TARGET_STATIC),
                         testing::program_name);

}  // namespace
}  // namespace fathom::inject
