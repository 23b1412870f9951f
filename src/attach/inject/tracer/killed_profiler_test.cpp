// The profiler is killed at any moment, and the program survives; a later detach removes the remains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <iostream>
#include <random>

#include "attach/inject/tracer/detach_guardian.h"
#include "attach/inject/tracer/stale_tracer.h"
#include "attach/inject/tracer/testing_hooks.h"

namespace fathom::inject {
namespace {

using testing::CountingOptions;
using testing::TestTarget;

class KilledProfiler : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!testing::may_trace()) GTEST_SKIP() << "ptrace is not allowed here";
  }
};

// Attaches and detaches until it is killed. `stay`: attaches once and waits.
[[noreturn]] void profile(const TestTarget& target, const CountingOptions& counting, bool stay) {
  for (int i = 0;; ++i) {
    auto tracer = Tracer::place(target.pid(), counting.options);
    if (!tracer) ::_exit(1);
    const auto hooks = i % 2 == 0 ? testing::entry_hooks(target) : testing::slot_hooks(target);
    if (!tracer->hook(tracer->plan(hooks))) ::_exit(2);
    if (stay) ::pause();
    if (!tracer->unhook()) ::_exit(3);
    if (!tracer->unmap()) ::_exit(4);
  }
}

pid_t start_profiler(const TestTarget& target, const CountingOptions& counting, bool stay) {
  const pid_t child = ::fork();
  if (child == 0) profile(target, counting, stay);
  return child;
}

void kill_and_wait(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST_P(KilledProfiler, IsCleanedUpAfterKillsAtRandomMoments) {
  TestTarget target(GetParam(), {"storm", "3"});
  ASSERT_TRUE(target.ready());
  const auto text = target.text_bytes();
  const auto mappings = target.mappings();
  const auto descriptors = target.descriptors();
  const CountingOptions counting;
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  int left = 0, stayed = 0;
  for (int i = 0; i < 50; ++i) {
    const pid_t profiler = start_profiler(target, counting, false);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 25000));
    kill_and_wait(profiler);
    const auto restored = detach_stale_tracer(target.pid());
    if (!restored) {
      ASSERT_EQ(restored.error().kind, ErrorKind::kNotFound) << i << ": " << restored.error().message;
    }
    left += restored.has_value() ? 1 : 0;
    stayed += restored && restored->find("stay") != std::string::npos ? 1 : 0;
    ASSERT_TRUE(target.alive()) << "round " << i;
    const auto taken = testing::load(target.board().taken);
    ASSERT_TRUE(testing::wait_until([&] { return testing::load(target.board().taken) > taken + 100; }))
        << "round " << i << ": no thread goes on";
    // A thread was inside, or an image of one: retries until it has left.
    ASSERT_TRUE(testing::wait_until(
        [&] { return !holder(target.pid()) || detach_stale_tracer(target.pid()).has_value(); }));
  }
  std::cout << left << " of 50 left something behind, " << stayed << " mappings had to stay at first\n";
  EXPECT_EQ(target.text_bytes(), text);
  EXPECT_EQ(target.descriptors(), descriptors);
  EXPECT_EQ(target.mappings(), mappings);
  EXPECT_EQ(target.end(), 0);
}

TEST_P(KilledProfiler, IsCleanedUpWhileTheHooksAreIn) {
  TestTarget target(GetParam(), {"storm", "2"});
  ASSERT_TRUE(target.ready());
  const auto text = target.text_bytes();
  const CountingOptions counting;
  const pid_t profiler = start_profiler(target, counting, true);
  ASSERT_TRUE(
      testing::wait_until([&] { return holder(target.pid()) == profiler && target.text_bytes() != text; }));
  const auto refused = detach_stale_tracer(target.pid());
  ASSERT_FALSE(refused.has_value()) << "a living profiler's tracer is left alone";
  EXPECT_EQ(refused.error().kind, ErrorKind::kPermission);
  kill_and_wait(profiler);
  EXPECT_EQ(holder(target.pid()), 0);
  const auto again = Tracer::place(target.pid(), counting.options);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().remedy, fmt::format("fathom detach -p {}", target.pid()));
  const auto restored = detach_stale_tracer(target.pid());
  ASSERT_OK(restored);
  EXPECT_THAT(*restored, ::testing::HasSubstr("2 function starts restored"));
  EXPECT_EQ(target.text_bytes(), text);
  EXPECT_EQ(target.end(), 0);
}

// Every thread is busy, and its stack holds return addresses of the tracer from finished calls. Only its
// frames show that no thread is inside.
TEST_P(KilledProfiler, OneDetachIsEnoughForBusyThreads) {
  constexpr std::uint64_t kThreads = 4;
  TestTarget target(GetParam(), {"stale", std::to_string(kThreads)});
  ASSERT_TRUE(target.ready());
  const auto text = target.text_bytes();
  const auto mappings = target.mappings();
  const CountingOptions counting(true);
  const pid_t profiler = start_profiler(target, counting, true);
  ASSERT_TRUE(
      testing::wait_until([&] { return holder(target.pid()) == profiler && target.text_bytes() != text; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // both functions are hooked
  target.order(&board::hooked);
  ASSERT_TRUE(testing::wait_until([&] { return testing::load(target.board().lingering) == kThreads; }));
  kill_and_wait(profiler);
  const auto restored = detach_stale_tracer(target.pid());
  ASSERT_OK(restored);
  EXPECT_THAT(*restored, ::testing::HasSubstr("mappings removed"));
  EXPECT_EQ(holder(target.pid()), std::nullopt);
  EXPECT_EQ(target.text_bytes(), text);
  EXPECT_EQ(target.mappings(), mappings);
  EXPECT_EQ(target.end(), 0);
}

// With a guardian, in a process group of its own that is killed as a whole. `pids` carries the guardian's
// pid.
pid_t start_guarded_profiler(const TestTarget& target, const CountingOptions& counting, bool stay, int pids) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setpgid(0, 0);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // A sanitizer catches some of the signals that shall kill this process.
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::signal(signal, SIG_DFL);
  auto guardian = DetachGuardian::start();
  const pid_t pid = guardian ? guardian->pid() : -1;
  if (::write(pids, &pid, sizeof(pid)) != sizeof(pid) || !guardian) ::_exit(5);
  guardian->watch(target.pid());
  profile(target, counting, stay);
}

bool ended(pid_t pid) {
  const auto stat = process::read_stat(pid);
  return !stat || stat->state == 'Z' || stat->state == 'X';
}

// However and whenever the profiler ends, `fathom detach` is not needed.
TEST_P(KilledProfiler, ItsGuardianLeavesNothingInTheTarget) {
  TestTarget target(GetParam(), {"storm", "3"});
  ASSERT_TRUE(target.ready());
  const auto text = target.text_bytes();
  const auto mappings = target.mappings();
  const auto descriptors = target.descriptors();
  const CountingOptions counting;
  int pids[2];
  ASSERT_EQ(::pipe2(pids, O_CLOEXEC), 0);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  for (const int signal : {SIGKILL, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGTERM, SIGHUP,
                           SIGINT, SIGABRT, SIGSEGV, SIGKILL, SIGKILL}) {
    SCOPED_TRACE(fmt::format("signal {}", signal));
    const bool stay = random() % 2 == 0;
    const pid_t profiler = start_guarded_profiler(target, counting, stay, pids[1]);
    pid_t guardian = -1;
    ASSERT_EQ(::read(pids[0], &guardian, sizeof(guardian)), static_cast<ssize_t>(sizeof(guardian)));
    ASSERT_GT(guardian, 0);
    if (stay) {
      ASSERT_TRUE(testing::wait_until([&] { return target.text_bytes() != text; }));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 25000));
    ASSERT_EQ(::kill(-profiler, signal), 0);
    int status = 0;
    ::waitpid(profiler, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it came to " << WEXITSTATUS(status);
    // It tries again and again while a thread is in the tracer, and on a busy machine that may take long.
    ASSERT_TRUE(testing::wait_until([&] { return ended(guardian); }, std::chrono::seconds(60)));
    ASSERT_EQ(holder(target.pid()), std::nullopt);
    ASSERT_EQ(target.text_bytes(), text);
    ASSERT_EQ(target.mappings(), mappings);
    ASSERT_EQ(target.descriptors(), descriptors);
    ASSERT_TRUE(target.alive());
  }
  ::close(pids[0]), ::close(pids[1]);
  EXPECT_EQ(target.end(), 0);
}

TEST_P(KilledProfiler, ADismissedGuardianStaysOnlyIfSomethingIsLeft) {
  TestTarget target(GetParam(), {"storm", "1"});
  ASSERT_TRUE(target.ready());
  auto without_work = DetachGuardian::start();
  ASSERT_OK(without_work);
  const pid_t unneeded = without_work->pid();
  without_work->watch(target.pid());
  without_work->dismiss();
  EXPECT_TRUE(ended(unneeded));

  const CountingOptions counting;
  auto guardian = DetachGuardian::start();
  ASSERT_OK(guardian);
  const pid_t pid = guardian->pid();
  guardian->watch(target.pid());
  auto tracer = Tracer::place(target.pid(), counting.options);
  ASSERT_OK(tracer);
  guardian->dismiss();
  EXPECT_FALSE(ended(pid)) << "it takes out what its profiler left";
  EXPECT_EQ(holder(target.pid()), ::getpid()) << "what a living profiler placed stays";
  // A killed guardian is no obstacle.
  auto killed = DetachGuardian::start();
  ASSERT_OK(killed);
  ::kill(killed->pid(), SIGKILL);
  killed->watch(target.pid());
  killed->dismiss();
}

INSTANTIATE_TEST_SUITE_P(Programs, KilledProfiler,
                         ::testing::Values(TARGET_DYNAMIC, TARGET_STATIC_PIE, TARGET_MUSL),
                         testing::program_name);

}  // namespace
}  // namespace fathom::inject
