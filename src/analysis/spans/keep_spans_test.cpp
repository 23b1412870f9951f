#include "analysis/spans/keep_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/spans/hand_made_spans.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

using testing::HasSubstr;

struct SomeSpans : HandMadeSpans {
  SomeSpans();
};
SomeSpans::SomeSpans() {
  HandMadeSpans& hand = *this;
  hand.span("get", 10, 10, hand.engine);
  hand.span("get", 100, 200, hand.engine);
  hand.span("put", 400, 50, hand.engine);
  hand.runs(hand.engine, hand.stack({hand.main, hand.execute}), 0, 500);
  hand.runs(hand.disk, hand.stack({hand.main, hand.execute}), 0, 500);
  hand.wait(hand.engine, hand.stack({hand.main, hand.fsync, hand.sync_file}), "fsync", 0.05, 100, 20,
            hand.file);
  hand.wait(hand.engine, hand.stack({hand.main, hand.fsync, hand.sync_file}), "fsync", 0.6, 100, 20,
            hand.file);
}

TEST(KeepSpans, OnlyTheTimeOfTheChosenSpansIsLeft) {
  SomeSpans hand;
  const std::size_t samples = hand.profile.samples.size();
  const auto kept = keep_spans(hand.profile, {.name = "get", .slower_than_ns = 100'000'000});
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->spans, 1u);
  EXPECT_EQ(kept->of, 2u);
  EXPECT_EQ(hand.profile.samples.size(), 200u);
  EXPECT_EQ(hand.profile.quality.filtered, samples - 200u);
  ASSERT_EQ(hand.profile.waits.size(), 1u);
  EXPECT_EQ(hand.profile.waits[0].start_ns, hand.at(100));
  EXPECT_EQ(hand.profile.waits[0].waited_ns, 50'000'000u);
  EXPECT_EQ(hand.profile.waits[0].queued_ns, 20'000'000u);
  EXPECT_EQ(hand.profile.quality.filtered_waits, 1u);
  const model::Thread& engine = hand.profile.threads[hand.engine.value];
  EXPECT_EQ(engine.ran_ns, 130'000'000u);
  EXPECT_EQ(engine.waited_ns, 50'000'000u);
  EXPECT_EQ(hand.profile.threads[hand.disk.value].ran_ns, 0u);
}

TEST(KeepSpans, OnlySpansWithTimeInTheChosenOnesAreLeft) {
  SomeSpans hand;
  hand.span("part of get", 150, 10, hand.engine);
  hand.span("at the same time", 150, 10, hand.disk);
  ASSERT_TRUE(keep_spans(hand.profile, {.name = "get", .slower_than_ns = 100'000'000}));
  std::vector<std::string> names;
  for (const model::Span& span : hand.profile.spans) names.emplace_back(hand.profile.strings[span.name]);
  EXPECT_THAT(names, testing::ElementsAre("get", "part of get"));
}

TEST(KeepSpans, ANameMayBeAPartThatOnlyOneKindHas) {
  SomeSpans hand;
  SomeSpans other;
  EXPECT_EQ(keep_spans(other.profile, {.name = "pu"})->name, "put");
  const auto both = keep_spans(hand.profile, {.name = "t"});
  ASSERT_FALSE(both);
  EXPECT_THAT(both.error().message, HasSubstr("several"));
  const auto none = keep_spans(hand.profile, {.name = "flush"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kNotFound);
  const auto slow = keep_spans(hand.profile, {.name = "get", .slower_than_ns = 1'000'000'000});
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().kind, ErrorKind::kNotFound);
}

TEST(KeepSpans, ASpanWithoutThreadKeepsAllThreads) {
  SomeSpans hand;
  hand.span("phase", 0, 100, model::kNoThread);
  ASSERT_TRUE(keep_spans(hand.profile, {.name = "phase"}));
  EXPECT_EQ(hand.profile.samples.size(), 200u);
}

TEST(KeepSpans, ASpanWithoutThreadGivesNoTimeToThreadsThatWereNotRecorded) {
  SomeSpans hand;
  const model::ThreadId waker = hand.thread(hand.process(99, "other"), 99, "waker");
  hand.span("phase", 0, 100, model::kNoThread);
  ASSERT_TRUE(keep_spans(hand.profile, {.name = "phase"}));
  EXPECT_EQ(hand.profile.threads[waker.value].ran_ns, 0u);
  EXPECT_GT(hand.profile.threads[hand.disk.value].ran_ns, 0u);
}

TEST(KeepSpans, SpansOfAnUnknownClockKeepNoTime) {
  SomeSpans hand;
  model::Span& span = hand.profile.spans.emplace_back();
  span.start_ns = hand.profile.meta.end_ns + 5;
  span.end_ns = span.start_ns + 1'000'000;
  span.name = hand.builder.string("elsewhere");
  const auto kept = keep_spans(hand.profile, {.name = "elsewhere"});
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(kept.error().remedy, "");
}

// Slow and fast spans of a kind share its time, whatever the recording.
TEST(KeepSpans, SlowAndFastPartsAddUp) {
  const SomeSpans hand;
  const auto left = [&](const SpanChoice& choice) {
    model::Profile profile = hand.profile;
    EXPECT_TRUE(keep_spans(profile, choice));
    EXPECT_TRUE(model::check(profile));
    return profile.samples.size();
  };
  EXPECT_EQ(left({.name = "get"}), left({.name = "get", .slower_than_ns = 100'000'000}) +
                                       left({.name = "get", .faster_than_ns = 100'000'000}));
}

TEST(KeepSpans, LeavesAnyRecordingValid) {
  model::for_each_profile(100, [](const model::Profile& random) {
    model::Profile profile = random;
    for (const model::Wait& wait : random.waits) {
      model::Span& span = profile.spans.emplace_back();
      span.start_ns = profile.meta.start_ns + wait.waited_ns % 1000;
      span.end_ns = std::max(span.start_ns, profile.meta.end_ns);
      span.thread = wait.thread;
      span.name = profile.strings.intern("a span");
    }
    const std::uint64_t samples = profile.samples.size();
    if (keep_spans(profile, {.name = "a span"})) {
      EXPECT_EQ(profile.quality.filtered, random.quality.filtered + samples - profile.samples.size());
    }
    EXPECT_TRUE(model::check(profile));
  });
}

}  // namespace
}  // namespace fathom::analysis
