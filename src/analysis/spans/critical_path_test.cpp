#include "analysis/spans/critical_path.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/core/call_tree.h"
#include "analysis/spans/hand_made_spans.h"
#include "model/random_profile.h"

namespace fathom::analysis {
namespace {

struct Step {
  std::string thread;
  Doing doing;
  std::uint64_t from_ms, to_ms;
  bool operator==(const Step&) const = default;
};

std::vector<Step> path_of(const HandMadeSpans& hand, double from_ms, double ms) {
  const ThreadTimes times(hand.profile);
  const WaitCauses causes(hand.profile);
  CriticalPaths paths(times, causes, hand.profile.threads.size());
  std::vector<Step> steps;
  paths.visit(hand.engine, hand.at(from_ms), hand.at(from_ms + ms), [&](const PathPiece& on) {
    const auto ms_of = [&](std::uint64_t ns) { return (ns - hand.profile.meta.start_ns) / 1'000'000; };
    steps.push_back({thread_name(hand.profile, on.thread), on.piece.doing, ms_of(on.piece.from_ns),
                     ms_of(on.piece.to_ns)});
  });
  return steps;
}

void waits_for(HandMadeSpans& hand, model::ThreadId thread, model::ThreadId waker, double from_ms,
               double ms) {
  hand.wait(thread, hand.stack({hand.main, hand.flush, hand.condition, hand.futex_wait}), "futex",
            from_ms / 1000, ms, 0, hand.word)
      .waker = waker;
}

// engine waits for persistence, which waits for disk, which syncs a file.
TEST(CriticalPath, FollowsThreeThreadsAndReturns) {
  HandMadeSpans hand;
  waits_for(hand, hand.engine, hand.persistence, 10, 30);
  waits_for(hand, hand.persistence, hand.disk, 12, 20);
  hand.wait(hand.disk, hand.stack({hand.main, hand.fsync, hand.sync_file}), "fsync", 0.014, 15, 0, hand.file);
  EXPECT_EQ(path_of(hand, 0, 50), (std::vector<Step>{{"engine", Doing::kRunning, 0, 10},
                                                     {"persistence", Doing::kRunning, 10, 12},
                                                     {"disk", Doing::kRunning, 12, 14},
                                                     {"disk", Doing::kWaiting, 14, 29},
                                                     {"disk", Doing::kRunning, 29, 32},
                                                     {"persistence", Doing::kRunning, 32, 40},
                                                     {"engine", Doing::kRunning, 40, 50}}));
}

// A worker that had waited for this very request: the thread on the path is not explained by itself.
TEST(CriticalPath, AWaitForAThreadOnThePathStaysAWait) {
  HandMadeSpans hand;
  waits_for(hand, hand.persistence, hand.engine, 0, 11);
  waits_for(hand, hand.engine, hand.persistence, 10, 30);
  EXPECT_EQ(path_of(hand, 5, 40), (std::vector<Step>{{"engine", Doing::kRunning, 5, 10},
                                                     {"persistence", Doing::kWaiting, 10, 11},
                                                     {"persistence", Doing::kRunning, 11, 40},
                                                     {"engine", Doing::kRunning, 40, 45}}));
}

TEST(CriticalPath, WaitsThatNoThreadEndedInTheTimeAreNotFollowed) {
  HandMadeSpans hand;
  waits_for(hand, hand.engine, hand.persistence, 10, 30);  // goes on after the time
  EXPECT_EQ(path_of(hand, 0, 20),
            (std::vector<Step>{{"engine", Doing::kRunning, 0, 10}, {"engine", Doing::kWaiting, 10, 20}}));
  HandMadeSpans asleep;  // a timer ended it, in the interrupt of any thread
  asleep.wait(asleep.engine, asleep.stack({asleep.main}), "nanosleep", 0.01, 10).waker = asleep.persistence;
  EXPECT_EQ(path_of(asleep, 10, 10), (std::vector<Step>{{"engine", Doing::kWaiting, 10, 20}}));
}

TEST(CriticalPath, AThreadThatWasNotRecordedIsNotFollowed) {
  HandMadeSpans hand;
  waits_for(hand, hand.engine, hand.thread(hand.process(99, "other"), 99, "waker"), 10, 30);
  EXPECT_EQ(path_of(hand, 0, 50), (std::vector<Step>{{"engine", Doing::kRunning, 0, 10},
                                                     {"engine", Doing::kWaiting, 10, 40},
                                                     {"engine", Doing::kRunning, 40, 50}}));
}

// Of any recording, damaged or not: the pieces cover the time, in order, without gaps and without overlap.
TEST(CriticalPath, CoversTheTimeExactly) {
  model::for_each_profile(100, [](const model::Profile& profile) {
    const ThreadTimes times(profile);
    const WaitCauses causes(profile);
    CriticalPaths paths(times, causes, profile.threads.size());
    for (std::uint32_t i = 0; i < std::min<std::size_t>(profile.waits.size(), 20); ++i) {
      const model::Wait& wait = profile.waits[i];
      const std::uint64_t from = wait.start_ns - std::min<std::uint64_t>(wait.start_ns, 1'000'000);
      const std::uint64_t to = from + std::min<std::uint64_t>(UINT64_MAX - from, 10'000'000'000);
      std::uint64_t at = from;
      paths.visit(wait.thread, from, to, [&](const PathPiece& on) {
        EXPECT_EQ(on.piece.from_ns, at);
        EXPECT_GT(on.piece.to_ns, on.piece.from_ns);
        at = on.piece.to_ns;
      });
      EXPECT_EQ(at, to);
    }
  });
}

}  // namespace
}  // namespace fathom::analysis
