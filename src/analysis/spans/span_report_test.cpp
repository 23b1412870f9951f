#include "analysis/spans/span_report.h"

#include <gtest/gtest.h>

#include <numeric>

#include "analysis/spans/hand_made_spans.h"
#include "model/marks.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

double sum_of(const std::vector<SpanSegment>& segments) {
  return std::accumulate(segments.begin(), segments.end(), 0.0,
                         [](double sum, const SpanSegment& segment) { return sum + segment.total_ns; });
}

TEST(SpanReport, SegmentsAndPathAddUpToTheTimeOfTheSpans) {
  HandMadeSpans hand;
  hand.spans_with(1, 60, [&](double at) {
    hand.wait(hand.engine, hand.stack({hand.main, hand.flush, hand.condition, hand.futex_wait}), "futex",
              at / 1000, 15, 5, hand.word)
        .waker = hand.persistence;
  });
  const SpanReport report = make_span_report(hand.profile, {});
  const SpanKindReport& kind = report.kinds.at(0);
  EXPECT_EQ(kind.count, 60u);
  EXPECT_EQ(kind.seen, 60u);
  EXPECT_NEAR(sum_of(kind.segments), kind.total_ns, 1);
  EXPECT_NEAR(sum_of(kind.path), kind.total_ns, 1);
  double waited = 0, queued = 0;
  for (const SpanSegment& segment : kind.segments) {
    if (segment.place.work == SpanWork::kWaiting) waited += segment.total_ns;
    if (segment.place.work == SpanWork::kQueued) queued += segment.total_ns;
  }
  EXPECT_NEAR(waited, 3 * 15e6, 10) << "spans 7, 27 and 47";
  EXPECT_NEAR(queued, 3 * 5e6, 10);
}

TEST(SpanReport, SegmentsAddUpInAnyRecording) {
  model::for_each_profile(100, [](const model::Profile& random) {
    model::Profile profile = random;
    for (const model::Wait& wait : random.waits) {
      model::Span& span = profile.spans.emplace_back();
      span.start_ns =
          std::max(profile.meta.start_ns, wait.start_ns - std::min<std::uint64_t>(wait.start_ns, 1000));
      span.end_ns = std::max(span.start_ns, std::min(profile.meta.end_ns, wait.start_ns + 5'000'000));
      span.thread = wait.thread;
    }
    for (const SpanKindReport& kind : make_span_report(profile, {}).kinds) {
      EXPECT_NEAR(sum_of(kind.segments), kind.seen_ns, 1 + kind.seen_ns * 1e-9);
      EXPECT_NEAR(sum_of(kind.path), kind.seen_ns, 1 + kind.seen_ns * 1e-9);
    }
  });
}

TEST(SpanReport, QuantilesHaveIntervalsThatHoldThem) {
  std::vector<std::uint64_t> lengths(1000);
  std::iota(lengths.begin(), lengths.end(), std::uint64_t{1});
  const SpanQuantile median = span_quantile(lengths, 0.5);
  EXPECT_EQ(median.ns, 500u);
  EXPECT_EQ(median.low_ns, 469u);
  EXPECT_EQ(median.high_ns, 532u);
  const SpanQuantile high = span_quantile({10, 20, 30}, 0.99);
  EXPECT_EQ(high.ns, 30u);
  EXPECT_FALSE(high.high_ns) << "three spans say nothing about one in a hundred";
}

// A future that is polled three times is one span; what happens between its polls is none of its threads' time.
TEST(SpanReport, PollsOfOneSpanAreJoined) {
  HandMadeSpans hand;
  hand.span("get", 10, 2, hand.engine, 7);
  hand.span("get", 20, 3, hand.persistence, 7);
  hand.span("get", 40, 5, hand.engine, 7);
  hand.span("get", 11, 4, hand.disk, 8);
  const SpanKindReport kind = make_span_report(hand.profile, {}).kinds.at(0);
  EXPECT_EQ(kind.count, 2u);
  EXPECT_EQ(kind.max_ns, 35'000'000u);
  double between = 0;
  for (const SpanSegment& segment : kind.segments)
    if (segment.place.work == SpanWork::kBetween) between += segment.total_ns;
  EXPECT_NEAR(between, 25e6, 10);
  EXPECT_NEAR(sum_of(kind.segments), kind.total_ns, 1);
}

TEST(SpanReport, CutSpansAndSpansWithoutThreadAreCounted) {
  HandMadeSpans hand;
  hand.span("a", 10, 5, hand.engine);
  hand.span("a", 20, 5, model::kNoThread);
  hand.span("a", 9'999, 5, hand.engine);
  const SpanKindReport kind = make_span_report(hand.profile, {}).kinds.at(0);
  EXPECT_EQ(kind.count, 2u);
  EXPECT_EQ(kind.seen, 1u);
  EXPECT_EQ(kind.cut, 1u);
}

TEST(SpanReport, SelectionTakesSpansByStartAndThread) {
  HandMadeSpans hand;
  for (int i = 0; i < 10; ++i) hand.span("a", i * 1000, 5, i % 2 == 0 ? hand.engine : hand.disk);
  Selection selection;
  selection.from_ns = 2'000'000'000;
  selection.to_ns = 6'000'000'000;
  EXPECT_EQ(make_span_report(hand.profile, selection).kinds.at(0).count, 4u);
  EXPECT_DOUBLE_EQ(make_span_report(hand.profile, selection).kinds.at(0).rate, 1.0);
  selection.thread = "disk";
  EXPECT_EQ(make_span_report(hand.profile, selection).kinds.at(0).count, 2u);
}

TEST(SpanReport, PhasesBetweenMarksAreSpans) {
  HandMadeSpans hand;
  hand.profile.meta.facts[model::kMarksFact] = "1.000 s: load\n3.000 s: rest\n";
  const SpanReport report = make_span_report(hand.profile, {});
  ASSERT_EQ(report.kinds.size(), 2u);
  EXPECT_EQ(report.kinds[0].name, "rest");
  EXPECT_EQ(report.kinds[1].max_ns, 2'000'000'000u);
}

}  // namespace
}  // namespace fathom::analysis
