#include "tools/serve/keeper.h"

#include <gtest/gtest.h>

#include "tools/serve/seconds.h"
#include "tools/serve/testing_recording.h"

namespace fathom::serve {
namespace {

TEST(Keeper, WindowsFollowTheMinutesOfTheClockWithoutGapsAndEachIsValid) {
  const TestingRecording recording(1);
  ASSERT_EQ(recording.windows().size(), 5u) << "four minutes that begin in the middle of one";
  std::uint64_t edge = recording.whole().meta.start_ns;
  for (const model::Profile& window : recording.windows()) {
    EXPECT_TRUE(model::check(window));
    EXPECT_EQ(window.meta.start_ns, edge);
    edge = window.meta.end_ns;
    EXPECT_EQ(window.meta.target, "target");
    EXPECT_EQ(window.quality.samples, window.samples.size());
    EXPECT_EQ(window.quality.complete, window.samples.size());
    if (&window == &recording.windows().back()) continue;
    const std::uint64_t end_unix = window.meta.start_unix_ns + (window.meta.end_ns - window.meta.start_ns);
    EXPECT_LE(end_unix % 60'000'000'000, 50'000'000u) << "at most one step after the minute";
  }
  EXPECT_EQ(edge, recording.whole().meta.end_ns);
}

TEST(Keeper, EachWindowsThreadsDidSomethingInAllOfItsTime) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const TestingRecording recording(seed);
    for (const model::Profile& window : recording.windows()) {
      const std::uint64_t length = window.meta.end_ns - window.meta.start_ns;
      std::map<std::int32_t, std::uint64_t> waited;
      for (const model::Wait& wait : window.waits)
        waited[window.threads[wait.thread.value].tid] += wait.waited_ns;
      for (const model::Thread& thread : window.threads) {
        EXPECT_EQ(thread.ran_ns + thread.waited_ns + thread.queued_ns, length);
        EXPECT_EQ(waited[thread.tid], thread.waited_ns) << "also of waits that began long before and last on";
      }
    }
  }
}

// With what was live when it began, which follows from all windows before it.
TEST(Keeper, EachWindowHasTheHeapOfItsTime) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const TestingRecording recording(seed);
    const std::uint64_t start = recording.whole().meta.start_ns;
    for (const model::Profile& window : recording.windows()) {
      analysis::Selection time;
      time.from_ns = window.meta.start_ns - start;
      time.to_ns = window.meta.end_ns - start;
      EXPECT_EQ(sums_of(window).heap, sums_of(recording.whole(), time).heap);
      EXPECT_FALSE(sums_of(window).heap.empty());
      EXPECT_LE(window.heap.slices.size(), 9u) << "fewer than the recording delivers";
    }
  }
}

TEST(Keeper, AClientGetsWhatTheHeapDidInItsSecondsAndSinceTheStart) {
  std::uint64_t asked = 0;
  std::optional<model::Profile> seconds, all;
  const TestingRecording recording(4, 3, [&](std::uint64_t now_ns, Pulls& pulls) {
    if (asked != 0 || now_ns < 70'000'000'000) return;
    asked = now_ns;
    pulls.ask({Cost::kHeap, now_ns, 2'000'000'000,
               [&](std::optional<model::Profile> rows) { seconds = std::move(rows); }});
    pulls.ask({Cost::kHeap, now_ns, 0, [&](std::optional<model::Profile> rows) { all = std::move(rows); }});
  });
  ASSERT_TRUE(seconds && all);
  const std::uint64_t start = recording.whole().meta.start_ns;
  const auto whole = [&](std::uint64_t from_ns, std::uint64_t until_ns) {
    analysis::Selection time;
    time.from_ns = from_ns - start;
    time.to_ns = until_ns - start;
    return sums_of(recording.whole(), time).heap;
  };
  EXPECT_TRUE(model::check(*seconds) && model::check(*all));
  EXPECT_EQ(sums_of(*seconds).heap, whole(asked, seconds->meta.end_ns));
  EXPECT_LE(seconds->meta.end_ns, asked + 2'200'000'000);
  EXPECT_EQ(sums_of(*all).heap, whole(start, all->meta.end_ns));
  EXPECT_LE(all->meta.end_ns, asked + 100'000'000);
}

// Names come from files, which a full machine reads in seconds: a window without them could not be compared with the next.
TEST(Keeper, AWindowWaitsForTheNamesOfItsFramesButNotForEver) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const auto lateness = [&](std::uint64_t unknown_ns) {
    std::uint64_t first = 0;
    const TestingRecording recording(1, 4, {}, {}, [&](std::uint64_t now_ns) {
      if (first == 0) first = now_ns;
      return now_ns >= first + unknown_ns;
    });
    return recording.came_ns().front() - recording.windows().front().meta.end_ns;
  };
  EXPECT_LE(lateness(0), 2 * kSecond);
  EXPECT_GE(lateness(8 * kSecond), 8 * kSecond);
  EXPECT_LE(lateness(8 * kSecond), 10 * kSecond);
  EXPECT_GE(lateness(1000 * kSecond), 15 * kSecond);
  EXPECT_LE(lateness(1000 * kSecond), 25 * kSecond);
}

TEST(Keeper, AnyNumberOfClientsGetTheStretchThatTheyAskedFor) {
  struct Answered {
    std::uint64_t asked_ns = 0, answered_ns = 0;
    model::Profile rows;
  };
  std::vector<Answered> answers;
  std::uint64_t clock = 0;
  std::uint64_t asked = 0;
  const TestingRecording recording(3, 3, [&](std::uint64_t now_ns, Pulls& pulls) {
    clock = now_ns;
    if (asked != 0 || now_ns < 50'000'000'000) return;
    asked = now_ns;
    for (int i = 0; i < 10; ++i)
      pulls.ask({Cost::kTimes, now_ns, 2'000'000'000, [&](std::optional<model::Profile> rows) {
                   ASSERT_TRUE(rows);
                   answers.push_back({asked, clock, std::move(*rows)});
                 }});
  });
  ASSERT_EQ(answers.size(), 10u);
  std::int64_t expected = 0;
  for (const model::Sample& sample : recording.whole().samples)
    if (sample.time_ns >= asked && sample.time_ns < asked + 2'000'000'000) ++expected;
  for (const Answered& answer : answers) {
    EXPECT_TRUE(model::check(answer.rows));
    EXPECT_GE(answer.answered_ns, asked + 2'000'000'000);
    EXPECT_LE(answer.answered_ns, asked + 2'300'000'000);
    EXPECT_EQ(answer.rows.meta.end_ns - answer.rows.meta.start_ns, 2'000'000'000u);
    EXPECT_EQ(static_cast<std::int64_t>(answer.rows.samples.size()), expected);
    std::uint64_t busy = 0;
    for (const model::Wait& wait : answer.rows.waits) busy += wait.waited_ns;
    EXPECT_LE(busy, 6'000'000'000u);
    EXPECT_NEAR(static_cast<double>(busy) + static_cast<double>(expected) * 10'101'010, 6e9, 0.2e9);
  }
}

TEST(Keeper, AStretchOverWhichTheRateChangedCountsTime) {
  std::uint64_t asked = 0;
  model::Profile stretch;
  TestingRates rates;
  rates.change_ns = 61'000'000'000;
  rates.hz = 50;
  const TestingRecording recording(
      6, 2,
      [&](std::uint64_t now_ns, Pulls& pulls) {
        if (asked != 0 || now_ns < 60'000'000'000) return;
        asked = now_ns;
        pulls.ask({Cost::kCpu, now_ns, 2'000'000'000,
                   [&](std::optional<model::Profile> rows) { stretch = std::move(*rows); }});
      },
      rates);
  ASSERT_FALSE(stretch.samples.empty());
  EXPECT_EQ(stretch.meta.facts.at("unit"), "ns");
  for (const model::Sample& sample : stretch.samples)
    EXPECT_EQ(sample.value, sample.time_ns < rates.change_ns ? 1'000'000'000 / 99 : 20'000'000);
  for (const model::Profile& window : recording.windows())
    EXPECT_EQ(window.meta.frequency_hz, window.meta.start_ns < rates.change_ns ? 99u : 50u);
}

// As metrics ask: for the seconds that have passed, a window's edge among them.
TEST(Keeper, AStretchThatBeganInTheWindowBeforeIsWhole) {
  model::Profile stretch;
  std::uint64_t from = 0;
  const TestingRecording recording(7, 2, [&](std::uint64_t now_ns, Pulls& pulls) {
    if (from != 0 || now_ns < 44'500'000'000) return;  // the first window ended at 41.5 s
    from = now_ns - 5'000'000'000;
    pulls.ask({Cost::kTimes, from, 5'000'000'000,
               [&](std::optional<model::Profile> rows) { stretch = std::move(*rows); }});
  });
  ASSERT_LT(from, recording.windows().front().meta.end_ns);
  ASSERT_LT(recording.windows().front().meta.end_ns + 1'500'000'000, from + 5'000'000'000);
  std::size_t expected = 0;
  for (const model::Sample& sample : recording.whole().samples)
    expected += sample.time_ns >= from && sample.time_ns < from + 5'000'000'000 ? 1 : 0;
  EXPECT_EQ(stretch.samples.size(), expected);
  std::uint64_t waited = 0, expected_ns = 0;
  for (const model::Wait& wait : stretch.waits) waited += wait.waited_ns;
  for (const model::Wait& wait : recording.whole().waits)
    if (const auto part = part_of(wait, from, from + 5'000'000'000)) expected_ns += part->waited_ns;
  EXPECT_EQ(waited, expected_ns);
}

TEST(Keeper, ARecordingEndsIfTheClockIsSetAndNotIfItIsAdjusted) {
  constexpr std::uint64_t kOffset = 1'700'000'000'000'000'000;
  for (const std::int64_t change_ms : {0, 900, -900, 3'600'000, -3'600'000}) {
    SCOPED_TRACE(change_ms);
    model::Profile profile;
    model::Builder builder(profile);
    profile.meta.start_ns = kSecondNs;
    profile.meta.start_unix_ns = kOffset + kSecondNs;
    std::uint64_t offset = kOffset;
    KeeperOptions options;
    options.unix_offset_ns = [&] { return offset; };
    Keeper keeper(options);
    session::TestingLent lending(profile, builder);
    keeper.step(lending.lent(), 2 * kSecondNs);
    EXPECT_FALSE(lending.ended);
    offset += static_cast<std::uint64_t>(change_ms * 1'000'000);
    keeper.step(lending.lent(), 3 * kSecondNs);
    EXPECT_EQ(lending.ended, change_ms > 5000 || change_ms < -5000);
  }
}

TEST(Keeper, SinceTheStartIsWhatAllWindowsHave) {
  model::Profile since_start;
  std::uint64_t asked = 0;
  const TestingRecording recording(5, 3, [&](std::uint64_t now_ns, Pulls& pulls) {
    if (asked != 0 || now_ns < 170'000'000'000) return;
    asked = now_ns;
    pulls.ask({Cost::kBlock, now_ns, 0,
               [&](std::optional<model::Profile> rows) { since_start = std::move(*rows); }});
  });
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> expected, found;  // waits and time by stack
  std::uint64_t rows = 0;
  for (const model::Wait& wait : recording.whole().waits) {
    if (end_of(wait) > asked || wait.unfinished) continue;
    auto& [count, ns] = expected[std::to_string(wait.thread.value)];
    ++count;
    ns += wait.waited_ns;
    ++rows;
  }
  for (const model::Wait& wait : since_start.waits) {
    auto& [count, ns] = found[std::to_string(since_start.threads[wait.thread.value].tid - 100)];
    count += wait.weight;
    ns += wait.waited_ns * wait.weight;
  }
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [thread, sums] : expected) {
    EXPECT_EQ(found[thread].first, sums.first);
    EXPECT_NEAR(static_cast<double>(found[thread].second), static_cast<double>(sums.second),
                static_cast<double>(rows));
  }
}

TEST(Keeper, ClientsOfARecordingThatEndsGetWhatThereIsAndLaterOnesAreRefused) {
  bool answered = false, refused = false;
  {
    Pulls left;
    left.ask({Cost::kCpu, 1, 1, [&](std::optional<model::Profile> rows) { refused = !rows; }});
  }
  EXPECT_TRUE(refused);
  std::uint64_t asked = 0;
  const TestingRecording recording(5, 1, [&](std::uint64_t now_ns, Pulls& pulls) {
    if (asked != 0 || now_ns < 60'000'000'000) return;
    asked = now_ns;
    pulls.ask({Cost::kCpu, now_ns, 100'000'000'000, [&](std::optional<model::Profile> rows) {
                 ASSERT_TRUE(rows);
                 answered = true;
                 EXPECT_LE(rows->meta.end_ns, 66'000'000'000u);
               }});
  });
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace fathom::serve
