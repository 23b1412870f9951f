// The profiler is killed at any moment, and the program lives; what was left in it is taken out afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "inject/left_behind.h"
#include "inject/testing_hooks.h"

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

// In and out until it is killed. `stay`: in, and there it waits.
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

TEST_P(KilledProfiler, AtRandomMoments) {
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
    const auto restored = detach_left_behind(target.pid());
    if (!restored) {
      ASSERT_EQ(restored.error().kind, ErrorKind::kNotFound) << i << ": " << restored.error().message;
    }
    left += restored.has_value() ? 1 : 0;
    stayed += restored && restored->find("stay") != std::string::npos ? 1 : 0;
    ASSERT_TRUE(target.alive()) << "round " << i;
    const auto taken = testing::load(target.board().taken);
    ASSERT_TRUE(testing::wait_until([&] { return testing::load(target.board().taken) > taken + 100; }))
        << "round " << i << ": no thread goes on";
    // A thread that was inside, or the image of one: again until it has left.
    ASSERT_TRUE(testing::wait_until(
        [&] { return !holder(target.pid()) || detach_left_behind(target.pid()).has_value(); }));
  }
  std::cout << left << " of 50 left something behind, " << stayed << " mappings had to stay at first\n";
  EXPECT_EQ(target.text_bytes(), text);
  EXPECT_EQ(target.descriptors(), descriptors);
  EXPECT_EQ(target.mappings(), mappings);
  EXPECT_EQ(target.end(), 0);
}

TEST_P(KilledProfiler, WhileTheHooksAreIn) {
  TestTarget target(GetParam(), {"storm", "2"});
  ASSERT_TRUE(target.ready());
  const auto text = target.text_bytes();
  const CountingOptions counting;
  const pid_t profiler = start_profiler(target, counting, true);
  ASSERT_TRUE(
      testing::wait_until([&] { return holder(target.pid()) == profiler && target.text_bytes() != text; }));
  const auto refused = detach_left_behind(target.pid());
  ASSERT_FALSE(refused.has_value()) << "a living profiler's tracer is left alone";
  EXPECT_EQ(refused.error().kind, ErrorKind::kPermission);
  kill_and_wait(profiler);
  EXPECT_EQ(holder(target.pid()), 0);
  const auto again = Tracer::place(target.pid(), counting.options);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().remedy, fmt::format("fathom detach -p {}", target.pid()));
  const auto restored = detach_left_behind(target.pid());
  ASSERT_OK(restored);
  EXPECT_THAT(*restored, ::testing::HasSubstr("2 function starts restored"));
  EXPECT_EQ(target.text_bytes(), text);
  EXPECT_EQ(target.end(), 0);
}

// Every thread is busy, and its stack holds return addresses of the tracer from calls that are over. Only its
// frames tell that nobody is inside.
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
  const auto restored = detach_left_behind(target.pid());
  ASSERT_OK(restored);
  EXPECT_THAT(*restored, ::testing::HasSubstr("mappings removed"));
  EXPECT_EQ(holder(target.pid()), std::nullopt);
  EXPECT_EQ(target.text_bytes(), text);
  EXPECT_EQ(target.mappings(), mappings);
  EXPECT_EQ(target.end(), 0);
}

INSTANTIATE_TEST_SUITE_P(Programs, KilledProfiler,
                         ::testing::Values(TARGET_DYNAMIC, TARGET_STATIC_PIE, TARGET_MUSL),
                         testing::program_name);

}  // namespace
}  // namespace fathom::inject
