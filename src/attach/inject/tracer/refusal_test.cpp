// Processes that cannot be traced: fathom explains each in one line with a remedy, and changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <fstream>

#include "attach/inject/tracer/testing_hooks.h"

namespace fathom::inject {
namespace {

using testing::CountingOptions;
using ::testing::HasSubstr;
using testing::TestTarget;

// A child that runs `before` and then waits.
class WaitingChild {
 public:
  explicit WaitingChild(const std::function<void()>& before = [] {}) {
    int ready[2], never[2];
    if (::pipe(ready) != 0 || ::pipe(never) != 0) std::abort();
    pid_ = ::fork();
    char byte = 0;
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      before();
      [[maybe_unused]] const auto written = ::write(ready[1], &byte, 1);
      for (;;) [[maybe_unused]] const auto got = ::read(never[0], &byte, 1);
    }
    [[maybe_unused]] const auto got = ::read(ready[0], &byte, 1);
    for (const int fd : {ready[0], ready[1], never[0], never[1]}) ::close(fd);
  }
  ~WaitingChild() { ::kill(pid_, SIGKILL), ::waitpid(pid_, nullptr, 0); }
  int pid() const { return pid_; }

 private:
  pid_t pid_;
};

class Refusal : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::may_trace()) GTEST_SKIP() << "ptrace is not allowed here";
  }
  Error refused(int pid) {
    const CountingOptions counting;
    const auto tracer = Tracer::place(pid, counting.options);
    if (tracer) return {ErrorKind::kSystem, "it was traced", ""};
    EXPECT_NE(tracer.error().remedy, "") << tracer.error().message;
    EXPECT_EQ(tracer.error().message.find('\n'), std::string::npos);
    return tracer.error();
  }
};

TEST_F(Refusal, AProcessThatIsBeingTraced) {
  const WaitingChild child;
  ASSERT_EQ(::ptrace(PTRACE_SEIZE, child.pid(), nullptr, nullptr), 0);
  EXPECT_THAT(refused(child.pid()).message,
              HasSubstr(fmt::format("process {} traces it already", ::getpid())));
}

TEST_F(Refusal, AProcessThatAnotherFathomHolds) {
  TestTarget target(TARGET_DYNAMIC, {"storm", "1"});
  ASSERT_TRUE(target.ready());
  const CountingOptions counting;
  auto first = Tracer::place(target.pid(), counting.options);
  ASSERT_OK(first);
  ASSERT_OK(first->hook(first->plan(testing::entry_hooks(target))));
  const auto error = refused(target.pid());
  EXPECT_THAT(error.message, HasSubstr(fmt::format("fathom {} traces its heap already", ::getpid())));
  EXPECT_EQ(error.kind, ErrorKind::kPermission);
  const auto seen = testing::counted(*first, TRACER_MALLOC, 0);
  EXPECT_TRUE(testing::wait_until([&] { return testing::counted(*first, TRACER_MALLOC, 0) > seen; }));
}

TEST_F(Refusal, AZombie) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_TRUE(testing::wait_until([&] { return process::read_stat(child)->state == 'Z'; }));
  EXPECT_THAT(refused(child).message, HasSubstr("zombie"));
  ::waitpid(child, nullptr, 0);
}

TEST_F(Refusal, NoSuchProcess) {
  EXPECT_EQ(refused(0x3ffffff).kind, ErrorKind::kNotFound);
}

TEST_F(Refusal, AKernelThread) {
  std::string name;
  std::getline(std::ifstream("/proc/2/comm") >> std::ws, name);
  if (name != "kthreadd") GTEST_SKIP() << "no kernel threads are seen here";
  EXPECT_THAT(refused(2).message, HasSubstr("kernel thread"));
}

TEST_F(Refusal, Itself) {
  EXPECT_THAT(refused(::getpid()).message, HasSubstr("itself"));
}

TEST_F(Refusal, StrictSeccomp) {
  const WaitingChild child([] { ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT); });
  EXPECT_THAT(refused(child.pid()).message, HasSubstr("strict"));
}

// A filter that kills at memfd_create and madvise: suspended while fathom maps, and active again afterwards.
TEST_F(Refusal, AFilterIsSuspendedOnlyWhileMapping) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to suspend a filter";
  const WaitingChild child([] {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {.len = std::size(filter), .filter = filter};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  });
  const CountingOptions counting;
  auto tracer = Tracer::place(child.pid(), counting.options);
  ASSERT_OK(tracer);
  EXPECT_EQ(tracer->shared().may_call_kernel, 0U);
  const auto unmapped = tracer->unmap();
  ASSERT_OK(unmapped);
  EXPECT_TRUE(*unmapped);
  EXPECT_EQ(process::read_status(child.pid())->seccomp, 2);
}

TEST_F(Refusal, AnotherToolsHookInASlot) {
  TestTarget target(TARGET_DYNAMIC, {"idle"});
  ASSERT_TRUE(target.ready());
  const CountingOptions counting;
  auto tracer = Tracer::place(target.pid(), counting.options);
  ASSERT_OK(tracer);
  auto hooks = testing::slot_hooks(target);
  hooks[0].slots[0] = {target.board().slot_given};
  const auto planned = tracer->plan(hooks);
  EXPECT_EQ(planned[0].kind, TRACER_HOOK_NONE);
  EXPECT_THAT(planned[0].text, HasSubstr("another tool's hook"));
  EXPECT_EQ(planned[1].kind, TRACER_HOOK_SLOT);
}

TEST_F(Refusal, CodeThatDiffersFromTheFile) {
  TestTarget target(TARGET_DYNAMIC, {"idle"});
  ASSERT_TRUE(target.ready());
  const CountingOptions counting;
  auto tracer = Tracer::place(target.pid(), counting.options);
  ASSERT_OK(tracer);
  auto hooks = testing::entry_hooks(target);
  hooks[0].code[4] ^= std::byte{1};
  EXPECT_THAT(tracer->plan(hooks)[0].text,
              HasSubstr("its code differs from the file: another tool hooked it"));
}

// Changed after fathom's change: left alone, and reported.
TEST_F(Refusal, AChangeAfterOursIsNotTakenBack) {
  TestTarget target(TARGET_DYNAMIC, {"idle"});
  ASSERT_TRUE(target.ready());
  const CountingOptions counting;
  auto tracer = Tracer::place(target.pid(), counting.options);
  ASSERT_OK(tracer);
  ASSERT_OK(tracer->hook(tracer->plan(testing::slot_hooks(target))));
  const auto memory = RemoteMemory::open(target.pid()).value();
  const ProcessAddress slot{target.board().slot_taken};
  const auto ours = memory.get<std::uint64_t>(slot).value();
  ASSERT_OK(memory.put<std::uint64_t>(slot, target.function("target_linger").address.value));
  EXPECT_FALSE(tracer->unhook().has_value());
  EXPECT_FALSE(tracer->unmap().value()) << "it may still lead to us";
  ASSERT_OK(memory.put<std::uint64_t>(slot, ours));
  ASSERT_OK(tracer->unhook());
  EXPECT_TRUE(tracer->unmap().value());
}

}  // namespace
}  // namespace fathom::inject
