#include "analysis/stacks/unmoved.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::stacks {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kSecondNs = 1'000'000'000;

// Two threads hold each other's locks since second 1; the look is of second 4, the recording ends in second 9.
class UnmovedThreads : public testing::Test {
 protected:
  UnmovedThreads() {
    kept.time_ns = 4 * kSecondNs;
    profile.processes.resize(1);
    profile.processes[0].pid = 9;
    for (std::size_t i = 0; i < 2; ++i) {
      ThreadLook row;
      row.pid = 9;
      row.tid = static_cast<std::int32_t>(10 + i);
      row.waited_ns = 3 * kSecondNs;
      row.holder = {
          Holder::Kind::kThread, Evidence::kOwnerField, static_cast<std::int32_t>(11 - i), 9, {}, 1 - i};
      kept.threads.push_back(row);
      model::Thread thread;
      thread.tid = row.tid;
      profile.threads.push_back(thread);
      model::Wait wait;
      wait.thread.value = static_cast<std::uint32_t>(i);
      wait.start_ns = kSecondNs;
      wait.waited_ns = 8 * kSecondNs;
      wait.unfinished = true;
      profile.waits.push_back(wait);
    }
    kept.verdicts = {{Finding::kDeadlock, {0, 1}, {}, 0, false}};
  }
  Look still() const { return keep_unmoved(kept, profile, profile.waits); }
  Look kept;
  model::Profile profile;
};

TEST_F(UnmovedThreads, WaitThereUntilTheEnd) {
  ASSERT_THAT(still().verdicts, SizeIs(1));
  EXPECT_EQ(still().threads[0].waited_ns, 8 * kSecondNs) << "as long as the recording saw it";
}

TEST_F(UnmovedThreads, ASignalThatEndsTheProcessEndsTheirWaits) {
  for (std::size_t i = 0; i < 2; ++i) {
    profile.waits[i].unfinished = false;
    profile.threads[i].end_ns = 9 * kSecondNs + 2'000'000;
  }
  EXPECT_THAT(still().verdicts, SizeIs(1));
  profile.threads[1].end_ns = 12 * kSecondNs;
  EXPECT_THAT(still().verdicts, IsEmpty()) << "it ran before it ended";
}

TEST_F(UnmovedThreads, TheSignalMayComeThroughAnotherThread) {
  for (std::size_t i = 0; i < 2; ++i) {
    profile.waits[i].unfinished = false;
    profile.waits[i].waker.value = 0;
    profile.threads[i].end_ns = 9 * kSecondNs + 2'000'000;
  }
  EXPECT_THAT(still().verdicts, IsEmpty()) << "they may have ended by themselves";
  profile.meta.facts["end.9"] = "signal 2";
  EXPECT_THAT(still().verdicts, SizeIs(1));
}

TEST_F(UnmovedThreads, OneThatWasWokenIsNotStuck) {
  profile.waits[0].unfinished = false;
  profile.waits[0].waker.value = 1;
  profile.threads[0].end_ns = 9 * kSecondNs + 1;
  EXPECT_THAT(still().verdicts, IsEmpty());
}

TEST_F(UnmovedThreads, AWaitThatBeganLaterIsAnotherOne) {
  profile.waits[1].start_ns = 5 * kSecondNs;
  profile.waits[1].waited_ns = 4 * kSecondNs;
  EXPECT_THAT(still().verdicts, IsEmpty());
}

TEST_F(UnmovedThreads, OfOneWithoutARecordedWaitNothingIsKnown) {
  profile.waits.pop_back();
  EXPECT_THAT(still().verdicts, IsEmpty());
}

TEST_F(UnmovedThreads, TheHolderMustNotHaveRunEither) {
  kept.verdicts = {{Finding::kHolderWaits, {0}, {1}, 0, false}};
  EXPECT_THAT(still().verdicts, SizeIs(1));
  profile.waits[1].start_ns = 5 * kSecondNs;
  EXPECT_THAT(still().verdicts, IsEmpty());
}

}  // namespace
}  // namespace fathom::stacks
