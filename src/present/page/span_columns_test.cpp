#include "present/page/span_columns.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/core/hand_made_profile.h"

namespace fathom::page {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

class SpansByHand : public analysis::HandMade {
 public:
  SpansByHand() {
    const auto process = this->process(10, "node");
    engine = thread(process, 10, "engine");
    disk = thread(process, 11, "disk");
  }
  void span(const char* name, std::uint64_t from_ms, std::uint64_t ms, model::ThreadId on,
            std::uint64_t id = 0, model::SpanSource source = model::SpanSource::kMarkerFile) {
    const std::uint64_t start = profile.meta.start_ns + from_ms * kMs;
    profile.spans.push_back({start, start + ms * kMs, builder.string(name), on, source, id, 0});
  }
  model::ThreadId engine, disk;
};

TEST(PageSpans, AreRowsByTheirStartWithTheLengthsOfEachKind) {
  SpansByHand hand;
  for (std::uint64_t i = 0; i < 20; ++i) hand.span("payload", i * 100, i == 7 ? 90 : 10, hand.engine);
  hand.span("flush", 50, 5, hand.disk);
  const SpanTrack track = spans_of(hand.profile);
  ASSERT_EQ(track.kinds.size(), 2u);
  EXPECT_EQ(track.kinds[0].name, "payload") << "most time first";
  EXPECT_EQ(track.kinds[0].count, 20u);
  EXPECT_EQ(track.kinds[0].p50_ns, 10 * kMs);
  EXPECT_EQ(track.kinds[0].most_ns, 90 * kMs);
  ASSERT_EQ(track.rows.size(), 21u);
  EXPECT_TRUE(std::ranges::is_sorted(track.rows, {}, &SpanTrack::Row::start_ns));
  EXPECT_EQ(track.rows[1].start_ns, 50 * kMs);
  EXPECT_EQ(track.rows[1].thread, "disk");
}

TEST(PageSpans, ASpanOfTwoThreadsHasNoneAndPhasesAreNoSpans) {
  SpansByHand hand;
  hand.span("poll", 10, 5, hand.engine, 7);
  hand.span("poll", 20, 5, hand.disk, 7);
  hand.span("warm up", 0, 50, model::kNoThread, 0, model::SpanSource::kMark);
  const SpanTrack track = spans_of(hand.profile);
  ASSERT_EQ(track.rows.size(), 1u);
  EXPECT_EQ(track.rows[0].length_ns, 15 * kMs);
  EXPECT_EQ(track.rows[0].thread, "");
}

// Of many spans the longest are drawn; what is counted stays whole.
TEST(PageSpans, OfTooManyTheLongestStay) {
  SpansByHand hand;
  const std::uint64_t many = kMostSpanRows + 500;
  for (std::uint64_t i = 0; i < many; ++i) hand.span("call", 0, 1 + i, hand.engine);
  hand.profile.meta.end_ns = hand.profile.meta.start_ns + 2 * many * kMs;
  const SpanTrack track = spans_of(hand.profile);
  EXPECT_EQ(track.kinds.at(0).count, many);
  ASSERT_EQ(track.rows.size(), kMostSpanRows);
  EXPECT_EQ(std::ranges::min(track.rows, {}, &SpanTrack::Row::length_ns).length_ns, 501 * kMs);
}

TEST(PageSpans, WithoutSpansTheDocumentHasNoColumns) {
  Texts texts;
  Columns columns;
  EXPECT_TRUE(add_spans({}, std::nullopt, true, texts, columns).is_null());
  EXPECT_TRUE(columns.places().empty());
}

}  // namespace
}  // namespace fathom::page
