#include "analysis/spans/span_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/spans/hand_made_spans.h"

namespace fathom::analysis {
namespace {

// Every length from `ms` to 1.5 times of it equally often.
model::Profile spans_of(double ms, int count) {
  HandMadeSpans hand;
  for (int i = 0; i < count; ++i) hand.span("request", i * 20.0, ms * (1 + i % 51 / 100.0), hand.engine);
  return hand.profile;
}

std::vector<Total> totals_between(const model::Profile& base, const model::Profile& fresh) {
  DiffRun a, b;
  a.profile = &base;
  b.profile = &fresh;
  return span_totals({a}, {b});
}

TEST(SpanTotals, AChangeOfTheMedianIsFoundAndEqualRunsAreNoise) {
  const model::Profile base = spans_of(2, 400), fresh = spans_of(3, 400);
  const auto changed = totals_between(base, fresh), same = totals_between(base, base);
  ASSERT_EQ(changed.size(), 2u);
  EXPECT_EQ(changed[0].kind, TotalKind::kSpanMedian);
  EXPECT_EQ(changed[0].name, "request");
  EXPECT_NEAR(changed[0].change.base, 2.5e6, 0.05e6);
  EXPECT_NEAR(changed[0].change.fresh, 3.75e6, 0.05e6);
  EXPECT_TRUE(changed[0].change.beyond_noise);
  EXPECT_EQ(changed[1].kind, TotalKind::kSpanP95);
  ASSERT_EQ(same.size(), 2u);
  EXPECT_FALSE(same[0].change.beyond_noise);
}

TEST(SpanTotals, FewSpansAreNotCompared) {
  EXPECT_TRUE(totals_between(spans_of(2, 19), spans_of(3, 400)).empty());
  const auto some = totals_between(spans_of(2, 40), spans_of(3, 40));
  ASSERT_EQ(some.size(), 1u) << "no interval of p95 from 40 spans";
  EXPECT_EQ(some[0].kind, TotalKind::kSpanMedian);
}

TEST(SpanTotals, AKindOfOneSideIsNoChange) {
  HandMadeSpans without;
  EXPECT_TRUE(totals_between(without.profile, spans_of(3, 400)).empty());
}

}  // namespace
}  // namespace fathom::analysis
