#include "record/session/calls/call_book.h"

#include <gtest/gtest.h>

namespace fathom::session {
namespace {

probe_account account(std::uint64_t calls, std::uint64_t counted_only = 0) {
  probe_account made{};
  made.calls = calls;
  made.counted_only = counted_only;
  return made;
}

probe_account timed(std::uint64_t calls, std::uint64_t returned, std::uint64_t total_ns,
                    std::uint64_t longest_ns) {
  probe_account made = account(calls);
  made.returned = returned;
  made.total_ns = total_ns;
  made.longest_ns = longest_ns;
  made.sized = 2;
  made.bytes = 64;
  return made;
}

ResolvedStack stack(std::uint32_t row) {
  ResolvedStack made;
  made.stack = {row};
  made.end = 1;
  return made;
}

class CallBookTest : public testing::Test {
 protected:
  CallBookTest() {
    book_.add({{4}, true});
    book_.add({{5}, false});
  }
  std::vector<model::Calls> take(std::vector<sources::ProbeReading> readings, bool last = false) {
    std::vector<model::Calls> rows;
    book_.take(readings, ++now_, lookups_, last, rows);
    return rows;
  }
  CallBook book_;
  std::map<std::uint64_t, ResolvedStack> stacks_ = {{77, stack(3)}};
  CallBook::Lookups lookups_ = {
      [this](std::uint64_t id) {
        const auto found = stacks_.find(id);
        return found == stacks_.end() ? std::nullopt : std::optional(found->second);
      },
      [](std::int32_t pid) { return model::ProcessId{static_cast<std::uint32_t>(pid - 9)}; }};
  std::uint64_t now_ = 0;
};

TEST_F(CallBookTest, ARowHoldsWhatCameSinceTheOneBefore) {
  auto rows = take({{{9, 0, 77}, timed(5, 4, 400, 300)}});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].time_ns, 1U);
  EXPECT_EQ(rows[0].function, model::FunctionId{4});
  EXPECT_EQ(rows[0].stack, model::StackId{3});
  EXPECT_EQ(rows[0].calls, 5U);
  EXPECT_EQ(rows[0].returned, 4U);
  EXPECT_EQ(rows[0].total_ns, 400U);
  EXPECT_EQ(rows[0].longest_ns, 300U);
  EXPECT_EQ(rows[0].bytes, 64U);
  EXPECT_EQ(rows[0].end, 1U);
  rows = take({{{9, 0, 77}, timed(5, 5, 900, 500)}});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].calls, 0U);
  EXPECT_EQ(rows[0].returned, 1U);
  EXPECT_EQ(rows[0].total_ns, 500U);
  EXPECT_EQ(rows[0].longest_ns, 500U);
  EXPECT_EQ(rows[0].bytes, 0U);
}

TEST_F(CallBookTest, AnUnchangedAccountAddsNothing) {
  const sources::ProbeReading reading{{9, 0, 77}, account(5)};
  EXPECT_EQ(take({reading}).size(), 1U);
  EXPECT_EQ(take({reading}).size(), 0U);
}

TEST_F(CallBookTest, CallsWaitForTheirStackAndAreAddedWithoutItAtTheEnd) {
  EXPECT_EQ(take({{{9, 0, 78}, account(5)}}).size(), 0U);
  stacks_[78] = stack(6);
  auto rows = take({{{9, 0, 78}, account(7)}, {{9, 0, 79}, account(2)}});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].calls, 7U);
  EXPECT_EQ(rows[0].stack, model::StackId{6});
  rows = take({{{9, 0, 78}, account(7)}, {{9, 0, 79}, account(2)}}, true);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].calls, 2U);
  EXPECT_EQ(rows[0].stack, model::StackId{0});
}

TEST_F(CallBookTest, WhatIsNotTimedOrNotWalkedIsMarked) {
  const auto rows = take({{{9, 1, 77}, account(3)}, {{10, 0, 0}, account(8, 8)}});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_FALSE(rows[0].timed);
  EXPECT_EQ(rows[0].function, model::FunctionId{5});
  EXPECT_EQ(rows[1].counted_only, 8U);
  EXPECT_EQ(rows[1].process, model::ProcessId{1});
  EXPECT_EQ(rows[1].stack, model::StackId{0});
}

}  // namespace
}  // namespace fathom::session
