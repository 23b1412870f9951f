#include "record/session/heap/sampling_interval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::session {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kOneSecond = 1'000'000'000;

TEST(SamplingInterval, GrowsWithABurstAndComesBackWhenItIsOver) {
  SamplingInterval interval(512 << 10, false);
  EXPECT_EQ(interval.after_second(2000, kOneSecond), std::nullopt) << "as many as may come";
  EXPECT_EQ(interval.after_round(401, 2 * kOneSecond), 1u << 20);
  EXPECT_EQ(interval.after_second(2001, 3 * kOneSecond), 2u << 20);
  EXPECT_EQ(interval.after_second(500, 4 * kOneSecond), std::nullopt) << "half of it would come too often";
  EXPECT_EQ(interval.after_second(499, 5 * kOneSecond), 1u << 20);
  EXPECT_EQ(interval.after_second(0, 6 * kOneSecond), 512u << 10);
  EXPECT_EQ(interval.after_second(0, 7 * kOneSecond), std::nullopt) << "no finer than was asked for";
  EXPECT_EQ(interval.changes(), 4u);
}

TEST(SamplingInterval, SaysWhenItChangedAndWhy) {
  SamplingInterval interval(512 << 10, false);
  EXPECT_EQ(interval.sentence(kOneSecond), "");
  (void)interval.after_round(401, kOneSecond + kOneSecond / 4);
  EXPECT_THAT(interval.sentence(kOneSecond), HasSubstr("changed once, as samples came too often"));
  EXPECT_THAT(interval.sentence(kOneSecond),
              HasSubstr("512 KiB, 1 MiB from 0.2 s on; --heap-fixed-interval"));
  for (int i = 0; i < 9; ++i) (void)interval.after_second(i % 2 == 0 ? 3000 : 0, (i + 2) * kOneSecond);
  const std::string text = interval.sentence(kOneSecond);
  EXPECT_THAT(text, HasSubstr("changed 10 times"));
  EXPECT_THAT(text, HasSubstr("... (3 more), 2 MiB from 9.0 s on")) << "six, and the last one";
}

TEST(SamplingInterval, StaysWhereItIsFixed) {
  SamplingInterval interval(64 << 10, true);
  EXPECT_EQ(interval.after_round(100'000, kOneSecond), std::nullopt);
  EXPECT_EQ(interval.after_second(100'000, kOneSecond), std::nullopt);
  EXPECT_EQ(interval.sentence(0), "");
}

TEST(SamplingInterval, HasAnUpperBound) {
  SamplingInterval interval(1u << 29, false);
  EXPECT_EQ(interval.after_second(9999, 1), 1u << 30);
  EXPECT_EQ(interval.after_second(9999, 2), std::nullopt);
}

}  // namespace
}  // namespace fathom::session
