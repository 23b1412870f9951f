// Puts the tracer into a living process and takes it out: hooks are called, and nothing is left.
#include <gtest/gtest.h>
#include <sys/ptrace.h>

#include "attach/inject/tracer/stale_tracer.h"
#include "attach/inject/tracer/testing_hooks.h"

namespace fathom::inject {
namespace {

using testing::CountingOptions;
using testing::TestTarget;

class Attach : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!testing::may_trace()) GTEST_SKIP() << "ptrace is not allowed here";
  }
};

TEST_P(Attach, HooksInSlotsSeeTheCallsThroughThem) {
  TestTarget target(GetParam(), {"storm", "2"});
  ASSERT_TRUE(target.ready());
  const CountingOptions counting;
  auto tracer = Tracer::place(target.pid(), counting.options);
  ASSERT_OK(tracer);
  const auto planned = tracer->plan(testing::slot_hooks(target));
  ASSERT_EQ(planned[0].kind, TRACER_HOOK_SLOT) << planned[0].text;
  ASSERT_EQ(planned[1].kind, TRACER_HOOK_SLOT) << planned[1].text;
  ASSERT_OK(tracer->hook(planned));
  EXPECT_TRUE(testing::wait_until([&] { return testing::counted(*tracer, TRACER_MALLOC, 0) > 1000; }));
  EXPECT_TRUE(testing::wait_until([&] { return testing::counted(*tracer, TRACER_FREE, 0) > 1000; }));
  EXPECT_EQ(tracer->stops().all_threads, 0U) << "slots need no thread to stop";
  ASSERT_OK(tracer->unhook());
  const auto unmapped = tracer->unmap();
  ASSERT_OK(unmapped);
  EXPECT_TRUE(*unmapped);
  EXPECT_EQ(target.end(), 0);
}

TEST_P(Attach, RemainsAreReportedByteByByteUntilThereAreNone) {
  TestTarget target(GetParam(), {"storm", "2"});
  ASSERT_TRUE(target.ready());
  EXPECT_FALSE(has_remains(target.pid()));
  const CountingOptions counting;
  auto tracer = Tracer::place(target.pid(), counting.options);
  ASSERT_OK(tracer);
  EXPECT_EQ(tracer->remains().places, 0U) << "no hook is in yet";
  EXPECT_TRUE(has_remains(target.pid()));
  ASSERT_OK(tracer->hook(tracer->plan(testing::entry_hooks(target))));
  const Remains in = tracer->remains();
  EXPECT_EQ(in.places, 2U);
  EXPECT_GE(in.bytes, 2U * 4);
  EXPECT_GT(in.mapped_bytes, 0U);
  EXPECT_FALSE(in.nothing());
  ASSERT_OK(tracer->unhook());
  EXPECT_EQ(tracer->remains().places, 0U);
  EXPECT_EQ(tracer->remains().reason, Remains::Reason::kThreadInside) << "only mappings are left";
  ASSERT_OK(tracer->unmap());
  EXPECT_TRUE(tracer->remains().nothing());
  EXPECT_EQ(tracer->remains().reason, Remains::Reason::kNone);
  EXPECT_FALSE(has_remains(target.pid()));
  EXPECT_EQ(target.end(), 0);
}

// Another process traces the target: no thread can be stopped, and fathom reports that at once.
TEST_P(Attach, ADebuggerIsReportedAsTheObstacle) {
  TestTarget target(GetParam(), {"storm", "2"});
  ASSERT_TRUE(target.ready());
  const CountingOptions counting;
  auto tracer = Tracer::place(target.pid(), counting.options);
  ASSERT_OK(tracer);
  ASSERT_OK(tracer->hook(tracer->plan(testing::entry_hooks(target))));
  const pid_t debugger = ::fork();
  if (debugger == 0) {
    if (::ptrace(PTRACE_SEIZE, target.pid(), nullptr, nullptr) != 0) ::_exit(1);
    for (;;) ::pause();
  }
  ASSERT_TRUE(
      testing::wait_until([&] { return obstacle_of(target.pid()).kind == Obstacle::Kind::kDebugger; }));
  EXPECT_EQ(obstacle_of(target.pid()).by, debugger);
  EXPECT_FALSE(tracer->unhook().has_value());
  const Remains remains = tracer->remains();
  EXPECT_EQ(remains.reason, Remains::Reason::kDebugger);
  EXPECT_EQ(remains.by, debugger);
  EXPECT_EQ(remains.places, 2U);
  ::kill(debugger, SIGKILL);
  ::waitpid(debugger, nullptr, 0);
  ASSERT_OK(tracer->unhook());
  ASSERT_OK(tracer->unmap());
  EXPECT_TRUE(tracer->remains().nothing());
  EXPECT_EQ(target.end(), 0);
}

TEST_P(Attach, HooksAtEntriesSeeEveryCall) {
  TestTarget target(GetParam(), {"storm", "2"});
  ASSERT_TRUE(target.ready());
  const CountingOptions counting;
  auto tracer = Tracer::place(target.pid(), counting.options);
  ASSERT_OK(tracer);
  const auto planned = tracer->plan(testing::entry_hooks(target));
  ASSERT_EQ(planned[0].kind, TRACER_HOOK_ENTRY) << planned[0].text;
  ASSERT_EQ(planned[1].kind, TRACER_HOOK_ENTRY) << planned[1].text;
  ASSERT_OK(tracer->hook(planned));
  const auto seen = testing::counted(*tracer, TRACER_MALLOC, 0);  // first: the target runs on between the two
  const auto calls = testing::load(target.board().taken);
  EXPECT_TRUE(testing::wait_until([&] { return testing::load(target.board().taken) > calls + 10000; }));
  EXPECT_GT(testing::counted(*tracer, TRACER_MALLOC, 0), seen + 9990) << "direct calls are seen as well";
  ASSERT_OK(tracer->unhook());
  const auto unmapped = tracer->unmap();
  ASSERT_OK(unmapped);
  EXPECT_TRUE(*unmapped);
  EXPECT_EQ(target.end(), 0);
}

TEST_P(Attach, NothingIsLeftAfterwards) {
  TestTarget target(GetParam(), {"storm", "2"});
  ASSERT_TRUE(target.ready());
  const auto text = target.text_bytes();
  const auto mappings = target.mappings();
  const auto descriptors = target.descriptors();
  const CountingOptions counting;
  for (int i = 0; i < 10; ++i) {
    auto tracer = Tracer::place(target.pid(), counting.options);
    ASSERT_OK(tracer);
    auto hooks = testing::slot_hooks(target);
    hooks[0] = testing::entry_hooks(target)[0];
    ASSERT_OK(tracer->hook(tracer->plan(hooks)));
    ASSERT_OK(tracer->unhook());
    const auto unmapped = tracer->unmap();
    ASSERT_OK(unmapped);
    ASSERT_TRUE(*unmapped);
  }
  EXPECT_EQ(target.text_bytes(), text);
  EXPECT_EQ(target.mappings(), mappings);
  EXPECT_EQ(target.descriptors(), descriptors);
  EXPECT_EQ(holder(target.pid()), std::nullopt);
  EXPECT_EQ(target.end(), 0);
}

INSTANTIATE_TEST_SUITE_P(Programs, Attach,
                         ::testing::Values(TARGET_DYNAMIC, TARGET_STATIC_PIE, TARGET_STATIC, TARGET_MUSL),
                         testing::program_name);

}  // namespace
}  // namespace fathom::inject
