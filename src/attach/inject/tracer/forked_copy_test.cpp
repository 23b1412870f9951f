// A process that the target forks while it is hooked has a copy of the hooks.
#include <gtest/gtest.h>

#include "attach/inject/tracer/testing_hooks.h"

namespace fathom::inject {
namespace {

using testing::CountingOptions;
using testing::TestTarget;

class ForkedCopy : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!testing::may_trace()) GTEST_SKIP() << "ptrace is not allowed here";
  }

  // The child forks with these hooks in its parent, which is restored before the child is.
  void restore(const std::function<std::vector<Hook>(const TestTarget&)>& hooks) {
    TestTarget target(GetParam(), {"fork"});
    ASSERT_TRUE(target.ready());
    const CountingOptions counting;
    auto tracer = Tracer::place(target.pid(), counting.options);
    ASSERT_OK(tracer);
    ASSERT_OK(tracer->hook(tracer->plan(hooks(target))));
    target.order(&board::hooked);
    ASSERT_TRUE(testing::wait_until([&] { return testing::load(target.board().child) != 0; }));
    const int child = static_cast<int>(testing::load(target.board().child));
    ASSERT_OK(tracer->unhook());
    const auto unmapped = tracer->unmap();
    ASSERT_OK(unmapped);
    ASSERT_TRUE(*unmapped);

    const std::optional<Remains> left = tracer->restore_forked(child);
    ASSERT_TRUE(left) << "it had a copy";
    EXPECT_EQ(left->places, 0U);
    EXPECT_EQ(left->mapped_bytes, 0U);
    EXPECT_TRUE(left->nothing());
    const testing::Function take = target.function("target_take");
    std::vector<std::byte> now(take.code.size());
    ASSERT_OK(RemoteMemory::open(child).value().read(take.address, now));
    EXPECT_EQ(now, take.code);
    EXPECT_FALSE(tracer->restore_forked(child)) << "there is nothing left to restore";

    const std::uint64_t taken = testing::load(target.board().taken);
    EXPECT_TRUE(testing::wait_until([&] { return testing::load(target.board().taken) > taken + 1000; }))
        << "the child goes on";
    EXPECT_EQ(target.end(), 0);
    EXPECT_EQ(testing::load(target.board().children_failed), 0U);
  }
};

TEST_P(ForkedCopy, OfJumpsIsTakenBack) {
  restore(testing::entry_hooks);
}

TEST_P(ForkedCopy, OfSlotsIsTakenBack) {
  restore(testing::slot_hooks);
}

TEST_P(ForkedCopy, IsNotFoundInAnotherProcess) {
  TestTarget target(GetParam(), {"idle"}), other(GetParam(), {"idle"});
  ASSERT_TRUE(target.ready());
  ASSERT_TRUE(other.ready());
  const CountingOptions counting;
  auto tracer = Tracer::place(target.pid(), counting.options);
  ASSERT_OK(tracer);
  ASSERT_OK(tracer->hook(tracer->plan(testing::entry_hooks(target))));
  const std::string text = other.text_bytes();
  EXPECT_FALSE(tracer->restore_forked(other.pid()));
  EXPECT_EQ(other.text_bytes(), text);
  EXPECT_EQ(target.end(), 0);
  EXPECT_EQ(other.end(), 0);
}

INSTANTIATE_TEST_SUITE_P(Programs, ForkedCopy, ::testing::Values(TARGET_DYNAMIC, TARGET_STATIC));

}  // namespace
}  // namespace fathom::inject
