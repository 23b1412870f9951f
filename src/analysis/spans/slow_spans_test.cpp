#include "analysis/spans/slow_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/spans/hand_made_spans.h"
#include "analysis/spans/span_report.h"

namespace fathom::analysis {
namespace {

using Plant = std::function<void(HandMadeSpans&, double)>;

SlowSpans slow_of(std::uint64_t seed, const Plant& plant, int count = 200) {
  HandMadeSpans hand;
  hand.spans_with(seed, count, [&](double from_ms) { plant(hand, from_ms); });
  const SpanReport report = make_span_report(hand.profile, {});
  EXPECT_EQ(report.kinds.size(), 1u);
  return report.kinds[0].slow.value_or(SlowSpans{});
}

struct Planted {
  const char* name;
  Plant plant;
  std::function<bool(const SlowCause&)> is_named;
};

std::vector<Planted> causes() {
  using Work = SpanWork;
  return {
      {"lock",
       [](HandMadeSpans& hand, double at) {
         model::Wait& wait =
             hand.wait(hand.engine, hand.stack({hand.main, hand.flush, hand.lock, hand.futex_wait}), "futex",
                       at / 1000, 20, 0, hand.word);
         wait.waker = hand.persistence;
         wait.waker_stack = hand.stack({hand.main, hand.flush});
       },
       [](const SlowCause& cause) {
         return cause.place.cause == Cause::kFutex && cause.place.futex == FutexKind::kLock &&
                cause.place.site == "node::Persistence::flush" && cause.holder_thread == "persistence";
       }},
      {"fsync",
       [](HandMadeSpans& hand, double at) {
         hand.wait(hand.engine, hand.stack({hand.main, hand.flush, hand.fsync, hand.sync_file}), "fsync",
                   at / 1000, 20, 0, hand.file)
             .state = model::WaitState::kUninterruptible;
       },
       [](const SlowCause& cause) {
         return cause.place.cause == Cause::kFileSync && cause.place.label == "fsync of /data/persist.dat";
       }},
      {"major fault",
       [](HandMadeSpans& hand, double at) {
         hand.wait(hand.engine, hand.stack({hand.main, hand.execute, hand.fault}), "", at / 1000, 20, 0,
                   hand.mapped)
             .state = model::WaitState::kUninterruptible;
       },
       [](const SlowCause& cause) {
         return cause.place.cause == Cause::kPageFault && cause.place.label == "page fault in mdbx.dat";
       }},
      {"run queue",
       [](HandMadeSpans& hand, double at) {
         hand.wait(hand.engine, hand.stack({hand.main, hand.execute}), "", at / 1000, 0, 20);
       },
       [](const SlowCause& cause) { return cause.place.work == Work::kQueued; }},
      {"allocation",
       [](HandMadeSpans& hand, double at) {
         hand.runs(hand.engine, hand.stack({hand.main, hand.execute, hand.malloc}), at, 20);
       },
       [](const SlowCause& cause) {
         return cause.place.work == Work::kAllocating && cause.place.site == "node::execute_block";
       }},
      {"faults that need no wait",
       [](HandMadeSpans& hand, double at) {
         hand.runs(hand.engine, hand.stack({hand.main, hand.execute, hand.fault}), at, 20);
       },
       [](const SlowCause& cause) {
         return cause.place.work == Work::kFaulting && cause.place.site == "node::execute_block";
       }},
      {"another thread's work",
       [](HandMadeSpans& hand, double at) {
         model::Wait& wait =
             hand.wait(hand.engine, hand.stack({hand.main, hand.flush, hand.condition, hand.futex_wait}),
                       "futex", at / 1000, 20, 0, hand.word);
         wait.waker = hand.persistence;
         hand.runs(hand.persistence, hand.stack({hand.main, hand.execute}), at, 20);
       },
       [](const SlowCause& cause) {
         return cause.place.futex == FutexKind::kCondition && !cause.behind.empty() &&
                cause.behind[0].thread == "persistence" && cause.behind[0].place.work == Work::kRunning &&
                cause.behind[0].place.site == "node::execute_block";
       }},
  };
}

TEST(SlowSpans, ThePlantedCauseIsFirstForEverySeed) {
  for (const Planted& planted : causes())
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const SlowSpans slow = slow_of(seed, planted.plant);
      ASSERT_TRUE(slow.is_claimed()) << planted.name << ", seed " << seed;
      EXPECT_TRUE(planted.is_named(slow.causes[0])) << planted.name << ", seed " << seed;
      EXPECT_NEAR(slow.causes[0].more_ns(), 20e6, 1.5e6) << planted.name << ", seed " << seed;
      EXPECT_NEAR(slow.slow_mean_ns - slow.fast_mean_ns, 20e6, 1e6);
    }
}

// The slowest of equal spans are slower as well: by their spread, which no cause explains.
TEST(SlowSpans, NothingIsClaimedWithoutACause) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    HandMadeSpans hand;
    double now = 1;
    for (int i = 0; i < 300; ++i) {
      // Running varies by a fifth, and some wait briefly for a lock or a CPU, whatever their length.
      const double ran = 3 + static_cast<double>(random() % 1000) / 1600;
      hand.runs(hand.engine, hand.stack({hand.main, hand.execute}), now, 3);
      double queued = 0;
      if (random() % 4 == 0) {
        queued = static_cast<double>(random() % 1000) / 4000;
        hand.wait(hand.engine, hand.stack({hand.main, hand.execute}), "", (now + ran) / 1000, 0, queued);
      }
      hand.span("new_payload", now, ran + queued, hand.engine);
      now += ran + queued + 1;
    }
    hand.profile.meta.end_ns = hand.at(now);
    const SpanReport report = make_span_report(hand.profile, {});
    ASSERT_TRUE(report.kinds[0].slow);
    EXPECT_FALSE(report.kinds[0].slow->is_claimed()) << "seed " << seed;
  }
}

// One or two unlucky spans are no rule.
TEST(SlowSpans, ASingleOutlierIsNoFinding) {
  for (const int outliers : {1, 2}) {
    int planted = 0;
    const SlowSpans slow = slow_of(3, [&](HandMadeSpans& hand, double at) {
      if (planted++ < outliers)
        hand.wait(hand.engine, hand.stack({hand.main, hand.flush, hand.fsync, hand.sync_file}), "fsync",
                  at / 1000, 20, 0, hand.file);
      else  // the others ran on, in the function that all spans run in
        hand.runs(hand.engine, hand.stack({hand.main, hand.execute}), at, 20);
    });
    EXPECT_NE(slow.causes[0].place.cause, Cause::kFileSync);
    for (const SlowCause& cause : slow.causes)
      EXPECT_FALSE(cause.place.cause == Cause::kFileSync && cause.is_certain) << outliers;
  }
}

TEST(SlowSpans, FewSpansAreNotCompared) {
  HandMadeSpans hand;
  hand.spans_with(1, 19, [](double) {});
  EXPECT_FALSE(make_span_report(hand.profile, {}).kinds[0].slow);
}

// Spans of 10 us, and a sample each millisecond. Taking a sample takes time, so the spans that have one are the slow ones: they ran for
// 50 us longer, and not for the millisecond that a sample stands for.
TEST(SlowSpans, ASampleInAShortSpanIsNotAPeriodOfRunning) {
  HandMadeSpans hand;
  const model::StackId stack = hand.stack({hand.main, hand.execute});
  for (int i = 0; i < 2000; ++i) {
    const double at = 1 + i * 0.1;
    const bool sampled = i % 20 == 3;
    hand.span("command", at, sampled ? 0.06 : 0.01, hand.engine);
    if (sampled) hand.runs(hand.engine, stack, at + 0.005, 1);
  }
  hand.profile.meta.end_ns = hand.at(210);
  const SpanReport report = make_span_report(hand.profile, {});
  ASSERT_EQ(report.kinds.size(), 1u);
  ASSERT_TRUE(report.kinds[0].slow);
  const SlowSpans& slow = *report.kinds[0].slow;
  double more = 0;
  for (const SlowCause& cause : slow.causes) more += cause.more_ns();
  EXPECT_NEAR(more, slow.slow_mean_ns - slow.fast_mean_ns, 100);
}

// 20 ms in which the thread waited, as its samples show, and whose wait was not recorded.
TEST(SlowSpans, AWaitThatWasNotRecordedIsNoRunning) {
  const SlowSpans slow = slow_of(1, [](HandMadeSpans&, double) {});
  EXPECT_FALSE(slow.is_claimed());
}

}  // namespace
}  // namespace fathom::analysis
